//! The blocks of a document's section as steps. The info string after the backticks specifies the kind:
//!
//! | block | meaning |
//! |---|---|
//! | `sh step` | input for the shell |
//! | `sh background` | a command for another terminal, which stays open |
//! | `text see` | lines in the previous step's output, `...` matches anything |
//! | `json see` | one line of the output, formatted over several; times, ids and tokens are compared by form |
//! | `diff edit FILE` | an edit, with a blank, `-` or `+` before each line |

#[derive(Debug)]
pub struct DocumentStep {
    /// Line number in the document.
    pub line: usize,
    pub what: StepKind,
}

#[derive(Debug)]
pub enum StepKind {
    Run { text: String, sees: Vec<ExpectedOutput> },
    Background { text: String, sees: Vec<ExpectedOutput> },
    Edit { file: String, from: String, to: String },
}

/// Expected output of a step.
#[derive(Clone, Debug)]
pub enum ExpectedOutput {
    Line(String),
    Json(String),
}

/// Treatment of blocks that are not steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherBlocks {
    /// An error in the document.
    Refused,
    /// Skipped as examples if they name a language or nothing.
    Skipped,
}

/// Parses the steps of the section with this heading, up to the next heading of the same level.
pub fn parse(document: &str, heading: &str, others: OtherBlocks) -> Result<Vec<DocumentStep>, String> {
    let level = format!("{} ", heading.split(' ').next().unwrap_or_default());
    let mut lines = document.lines().enumerate().skip_while(|(_, line)| *line != heading);
    lines.next().ok_or_else(|| format!("there is no section `{heading}`"))?;
    let mut steps: Vec<DocumentStep> = Vec::new();
    while let Some((n, line)) = lines.next().filter(|(_, line)| !line.starts_with(&level)) {
        let Some(info) = line.strip_prefix("```") else { continue };
        let at = |error: &str| format!("line {}: {error}", n + 1);
        let mut block = Vec::new();
        loop {
            match lines.next() {
                Some((_, "```")) => break,
                Some((_, line)) => block.push(line),
                None => return Err(at("the block is not closed")),
            }
        }
        if others == OtherBlocks::Skipped && !info.contains(' ') {
            continue;
        }
        if let "text see" | "json see" = info {
            let sees = steps.last_mut().and_then(|step| step.what.sees());
            let sees = sees.ok_or_else(|| at("what is to be seen after no step"))?;
            match info {
                "json see" => sees.push(ExpectedOutput::Json(block.into_iter().map(str::trim).collect())),
                _ => sees.extend(block.into_iter().map(|line| ExpectedOutput::Line(line.to_owned()))),
            }
            continue;
        }
        seen(&mut steps)?;
        let text = block.join("\n");
        let what = match (info, info.strip_prefix("diff edit ")) {
            ("sh step", _) => StepKind::Run { text, sees: Vec::new() },
            ("sh background", _) => StepKind::Background { text, sees: Vec::new() },
            (_, Some(file)) => edit(file, &block).map_err(|error| at(&error))?,
            _ => return Err(at(&format!("`{info}` is no kind of block"))),
        };
        steps.push(DocumentStep { line: n + 1, what });
    }
    seen(&mut steps)?;
    if steps.is_empty() { Err(format!("`{heading}` has no step")) } else { Ok(steps) }
}

/// Rejects a last step without expected output.
fn seen(steps: &mut [DocumentStep]) -> Result<(), String> {
    let Some(step) = steps.last_mut() else { return Ok(()) };
    let line = step.line;
    match step.what.sees() {
        Some(sees) if sees.is_empty() => Err(format!("line {line}: a step without expected output")),
        _ => Ok(()),
    }
}

impl StepKind {
    /// Returns the expected output; `None` for an edit.
    fn sees(&mut self) -> Option<&mut Vec<ExpectedOutput>> {
        match self {
            StepKind::Run { sees, .. } | StepKind::Background { sees, .. } => Some(sees),
            StepKind::Edit { .. } => None,
        }
    }
}

fn edit(file: &str, block: &[&str]) -> Result<StepKind, String> {
    let (mut from, mut to) = (String::new(), String::new());
    for line in block {
        let (before, after) = match line.chars().next() {
            Some(' ') => (true, true),
            Some('-') => (true, false),
            Some('+') => (false, true),
            _ => return Err(format!("`{line}` begins with none of blank, - and +")),
        };
        let line = format!("{}\n", &line[1..]);
        from.push_str(if before { &line } else { "" });
        to.push_str(if after { &line } else { "" });
    }
    if from.is_empty() {
        return Err("the edit names no line that is there".to_owned());
    }
    Ok(StepKind::Edit { file: file.to_owned(), from, to })
}
