//! The blocks of a section of a document, as things to do. What a block is stands behind its three backticks:
//!
//! | block | what |
//! |---|---|
//! | `sh step` | to be pasted into the shell |
//! | `sh background` | one command for a terminal of its own, which stays open |
//! | `text see` | lines that the step before it shows, `...` stands for anything |
//! | `diff edit FILE` | lines to be changed, with a blank, `-` or `+` in front |

#[derive(Debug)]
pub struct Step {
    /// Of the document.
    pub line: usize,
    pub what: What,
}

#[derive(Debug)]
pub enum What {
    Run { text: String, sees: Vec<String> },
    Background { text: String, sees: Vec<String> },
    Edit { file: String, from: String, to: String },
}

/// The steps of the section with this heading.
pub fn parse(document: &str, heading: &str) -> Result<Vec<Step>, String> {
    let mut lines = document.lines().enumerate().skip_while(|(_, line)| *line != heading);
    lines.next().ok_or_else(|| format!("there is no section `{heading}`"))?;
    let mut steps: Vec<Step> = Vec::new();
    while let Some((n, line)) = lines.next().filter(|(_, line)| !line.starts_with("## ")) {
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
        if info == "text see" {
            let sees = steps.last_mut().and_then(|step| step.what.unseen());
            let sees = sees.ok_or_else(|| at("what is to be seen after no step"))?;
            sees.extend(block.into_iter().map(str::to_owned));
            continue;
        }
        seen(&mut steps)?;
        let text = block.join("\n");
        let what = match (info, info.strip_prefix("diff edit ")) {
            ("sh step", _) => What::Run { text, sees: Vec::new() },
            ("sh background", _) => What::Background { text, sees: Vec::new() },
            (_, Some(file)) => edit(file, &block).map_err(|error| at(&error))?,
            _ => return Err(at(&format!("`{info}` is no kind of block"))),
        };
        steps.push(Step { line: n + 1, what });
    }
    seen(&mut steps)?;
    if steps.is_empty() { Err(format!("`{heading}` has no step")) } else { Ok(steps) }
}

/// Nothing is done without a look at what it said.
fn seen(steps: &mut [Step]) -> Result<(), String> {
    let Some(step) = steps.last_mut() else { return Ok(()) };
    let line = step.line;
    step.what.unseen().map_or(Ok(()), |_| Err(format!("line {line}: nothing says what is to be seen")))
}

impl What {
    /// Where to put what is to be seen, if that is missing.
    fn unseen(&mut self) -> Option<&mut Vec<String>> {
        match self {
            What::Run { sees, .. } | What::Background { sees, .. } => Some(sees).filter(|sees| sees.is_empty()),
            What::Edit { .. } => None,
        }
    }
}

fn edit(file: &str, block: &[&str]) -> Result<What, String> {
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
    Ok(What::Edit { file: file.to_owned(), from, to })
}
