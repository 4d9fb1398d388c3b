//! `build_adapter DIR OUT release|quick` builds the component of an adapter for the build script of `api`. As a build
//! dependency, the kit would be compiled for every build of `api`, bundled or not.

use std::{env, path::Path, process::ExitCode};

use adapter_kit::{Profile, build};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [dir, out, profile] = arguments.as_slice() else {
        eprintln!("usage: build_adapter DIR OUT release|quick");
        return ExitCode::from(2);
    };
    let profile = if profile == "release" { Profile::Release } else { Profile::Quick };
    match build(Path::new(dir), Path::new(out), profile, &mut |progress| eprintln!("{progress}")) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", error.without_output());
            ExitCode::FAILURE
        }
    }
}
