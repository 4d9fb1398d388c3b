//! A disk whose power may go at any moment: what of a folder is durable, and what was only done since. POSIX's promises and no more: a
//! file's bytes are durable once the file was synced, a name once its folder was. What was not synced may be there, in part, or not at all.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{random::Random, recording::Operation};

const SECTOR: usize = 512;

#[derive(Clone, Default)]
struct File {
    durable: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Written { at: usize, bytes: Vec<u8> },
    Resized(usize),
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Written { at, bytes } => write(content, *at, bytes),
            Self::Resized(length) => content.resize(*length, 0),
        }
    }
}

fn write(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if content.len() < at + bytes.len() {
        content.resize(at + bytes.len(), 0);
    }
    content[at..at + bytes.len()].copy_from_slice(bytes);
}

/// What a name stands for: a folder, or a file by its place in `files` (inodes are used again).
#[derive(Clone, Copy)]
enum Named {
    Folder,
    File(usize),
}

type Names = BTreeMap<PathBuf, Named>;

#[derive(Clone)]
enum Naming {
    Added(PathBuf, Named),
    Removed(PathBuf),
    Moved(PathBuf, PathBuf),
}

impl Naming {
    /// The folder whose sync makes it durable. A move between folders happens at once or not at all.
    fn folder(&self) -> &Path {
        let (Self::Added(path, _) | Self::Removed(path) | Self::Moved(_, path)) = self;
        path.parent().expect("below the folder")
    }

    fn apply(&self, names: &mut Names) {
        match self {
            Self::Added(path, named) => drop(names.insert(path.clone(), *named)),
            Self::Removed(path) => drop(names.remove(path)),
            Self::Moved(from, to) => {
                if let Some(named) = names.remove(from) {
                    names.insert(to.clone(), named);
                }
            }
        }
    }
}

pub struct Image {
    root: PathBuf,
    files: Vec<File>,
    by_inode: HashMap<u64, usize>,
    folders: HashMap<u64, PathBuf>,
    durable: Names,
    /// As the process sees them.
    names: Names,
    unsynced: Vec<Naming>,
    /// A disk that lies: what was synced is not durable.
    pub ignores_syncs: bool,
}

/// What becomes of what was not synced.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    Lost,
    Kept,
    /// Each operation has its own: kept, lost or, if it is a write, torn; names of a folder are kept up to one of them.
    Mixed,
}

impl Image {
    /// Of a folder as it is, all of it durable.
    pub fn of(root: &Path) -> Self {
        let mut image = Self {
            root: root.to_path_buf(),
            files: Vec::new(),
            by_inode: HashMap::new(),
            folders: HashMap::new(),
            durable: Names::new(),
            names: Names::new(),
            unsynced: Vec::new(),
            ignores_syncs: false,
        };
        image.add(root);
        image.names = image.durable.clone();
        image
    }

    fn add(&mut self, folder: &Path) {
        self.folders.insert(inode(folder), folder.to_path_buf());
        for path in entries(folder) {
            if path.is_dir() {
                self.durable.insert(path.clone(), Named::Folder);
                self.add(&path);
            } else {
                self.by_inode.insert(inode(&path), self.files.len());
                self.durable.insert(path.clone(), Named::File(self.files.len()));
                self.files.push(File { durable: fs::read(&path).expect("a file"), unsynced: Vec::new() });
            }
        }
    }

    pub fn follow(&mut self, operation: &Operation) {
        match operation {
            Operation::Opened { path, inode, .. } if path == &self.root || self.is_folder(path) => {
                self.folders.insert(*inode, path.clone());
            }
            Operation::Opened { path, inode, is_new, emptied } => {
                if *is_new {
                    self.by_inode.insert(*inode, self.files.len());
                    self.name(Naming::Added(path.clone(), Named::File(self.files.len())));
                    self.files.push(File::default());
                }
                if *emptied {
                    self.change(*inode, Change::Resized(0));
                }
            }
            Operation::Written { inode, at, bytes } => {
                self.change(*inode, Change::Written { at: *at, bytes: bytes.clone() });
            }
            Operation::Resized { inode, length } => self.change(*inode, Change::Resized(*length)),
            Operation::Renamed { from, to } => self.name(Naming::Moved(from.clone(), to.clone())),
            Operation::Unlinked { path } | Operation::FolderRemoved { path } => {
                self.name(Naming::Removed(path.clone()));
            }
            Operation::FolderMade { path } => self.name(Naming::Added(path.clone(), Named::Folder)),
            Operation::Synced { .. } if self.ignores_syncs => {}
            Operation::Synced { inode } => match self.folders.get(inode).cloned() {
                Some(folder) => self.sync_names(&folder),
                None => {
                    let file = self.file(*inode);
                    for change in std::mem::take(&mut file.unsynced) {
                        change.apply(&mut file.durable);
                    }
                }
            },
        }
    }

    fn is_folder(&self, path: &Path) -> bool {
        matches!(self.names.get(path), Some(Named::Folder))
    }

    fn file(&mut self, inode: u64) -> &mut File {
        &mut self.files[*self.by_inode.get(&inode).expect("an opened file")]
    }

    fn change(&mut self, inode: u64, change: Change) {
        self.file(inode).unsynced.push(change);
    }

    fn name(&mut self, naming: Naming) {
        naming.apply(&mut self.names);
        self.unsynced.push(naming);
    }

    fn sync_names(&mut self, folder: &Path) {
        let (synced, left) =
            std::mem::take(&mut self.unsynced).into_iter().partition(|naming| naming.folder() == folder);
        self.unsynced = left;
        let synced: Vec<Naming> = synced;
        synced.iter().for_each(|naming| naming.apply(&mut self.durable));
    }

    /// Writes what is left after a power cut into an empty folder.
    pub fn cut(&self, fate: Fate, random: &mut Random, to: &Path) {
        let names = self.names_after(fate, random);
        for (path, named) in &names {
            let target = to.join(path.strip_prefix(&self.root).expect("below the folder"));
            // Names below a folder whose own name was lost are lost with it. A map is in the order of paths: folders come first.
            if !target.parent().is_some_and(Path::exists) {
                continue;
            }
            match named {
                Named::Folder => fs::create_dir(&target).expect("a new folder"),
                Named::File(file) => {
                    fs::write(&target, content_after(&self.files[*file], fate, random)).expect("a new file");
                }
            }
        }
    }

    fn names_after(&self, fate: Fate, random: &mut Random) -> Names {
        let mut names = self.durable.clone();
        let mut kept: HashMap<&Path, bool> = HashMap::new();
        for naming in &self.unsynced {
            let kept = kept.entry(naming.folder()).or_insert(true);
            *kept &= match fate {
                Fate::Lost => false,
                Fate::Kept => true,
                Fate::Mixed => random.below(8) > 0,
            };
            if *kept {
                naming.apply(&mut names);
            }
        }
        names
    }

    /// The recording has all that was done: replayed, it is the folder as it is now.
    pub fn assert_is(&self, folder: &Path) {
        let mut found = 0;
        let mut folders = vec![folder.to_path_buf()];
        while let Some(next) = folders.pop() {
            for path in entries(&next) {
                found += 1;
                let named = self.names.get(&path).unwrap_or_else(|| panic!("{} is not recorded", path.display()));
                match named {
                    Named::Folder => folders.push(path),
                    Named::File(file) => {
                        let content = content_after(&self.files[*file], Fate::Kept, &mut Random::new(0));
                        assert!(fs::read(&path).expect("a file") == content, "{} is otherwise", path.display());
                    }
                }
            }
        }
        assert_eq!(found, self.names.len(), "what is recorded and is not there");
    }
}

fn content_after(file: &File, fate: Fate, random: &mut Random) -> Vec<u8> {
    let mut content = file.durable.clone();
    // Half of the time the disk got as far as some moment; otherwise each write has a fate of its own.
    let in_order = random.below(2) == 0;
    let reached = random.below(file.unsynced.len() as u64 + 1) as usize;
    for (number, change) in file.unsynced.iter().enumerate() {
        match (fate, change) {
            (Fate::Lost, _) => {}
            (Fate::Kept, _) => change.apply(&mut content),
            (Fate::Mixed, Change::Written { at, bytes }) if in_order && number == reached => {
                write(&mut content, *at, &bytes[..torn(bytes.len(), random)]);
            }
            (Fate::Mixed, _) if in_order => {
                if number < reached {
                    change.apply(&mut content);
                }
            }
            (Fate::Mixed, Change::Written { at, bytes }) => match random.below(3) {
                0 => {}
                1 => write(&mut content, *at, &bytes[..torn(bytes.len(), random)]),
                _ => change.apply(&mut content),
            },
            (Fate::Mixed, Change::Resized(_)) => {
                if random.below(2) == 0 {
                    change.apply(&mut content);
                }
            }
        }
    }
    content
}

/// So many bytes of a torn write are there: whole sectors.
fn torn(length: usize, random: &mut Random) -> usize {
    (random.below((length / SECTOR) as u64 + 1) as usize * SECTOR).min(length)
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).expect("it is there").ino()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}
