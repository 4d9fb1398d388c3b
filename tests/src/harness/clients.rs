//! The typed clients of `api/clients`, built as packages and installed into empty projects, as their users install
//! them. A package is built once per version of its files and of the document.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::process::Command;

use crate::harness::{
    components::root,
    external::Suite,
    packages::{Project, run},
};

const STEP: Duration = Duration::from_secs(600);
const TYPESCRIPT_FOLDER: &str = "api/clients/typescript";
const PYTHON_FOLDER: &str = "api/clients/python";
const TYPESCRIPT_FILES: [&str; 13] = [
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "api/openapi/clients.json",
    "api/clients/typescript/README.md",
    "api/clients/typescript/package.json",
    "api/clients/typescript/package-lock.json",
    "api/clients/typescript/tsconfig.json",
    "api/clients/typescript/generate.mjs",
    "api/clients/typescript/src/client.ts",
    "api/clients/typescript/src/errors.ts",
    "api/clients/typescript/src/index.ts",
    "api/clients/typescript/src/types.ts",
    "api/clients/typescript/src/webhooks.ts",
];
const PYTHON_FILES: [&str; 12] = [
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "api/openapi/clients.json",
    "api/clients/python/README.md",
    "api/clients/python/pyproject.toml",
    "api/clients/python/requirements.txt",
    "api/clients/python/generate.py",
    "api/clients/python/practice_sync_client/__init__.py",
    "api/clients/python/practice_sync_client/client.py",
    "api/clients/python/practice_sync_client/errors.py",
    "api/clients/python/practice_sync_client/py.typed",
    "api/clients/python/practice_sync_client/webhooks.py",
];

/// An empty project with the TypeScript client.
pub struct TypescriptClient {
    tools: PathBuf,
    /// The `node_modules` with the client and nothing else.
    pub modules: PathBuf,
}

/// An empty virtual environment with the Python client.
pub struct PythonClient {
    tools: PathBuf,
    /// The Python of the environment.
    pub python: PathBuf,
}

/// Returns a folder whose `node_modules` has the compiler.
pub async fn typescript_tools() -> PathBuf {
    project("client-typescript-tools", TYPESCRIPT_FOLDER, Suite::Node).npm().await
}

/// Returns a Python with the generator and the type checker.
pub async fn python_tools() -> PathBuf {
    project("client-python-tools", PYTHON_FOLDER, Suite::Python).python().await
}

impl TypescriptClient {
    pub async fn installed() -> TypescriptClient {
        let tools = typescript_tools().await;
        let package = project("client-typescript", "", Suite::Node);
        let built = package.installed(&TYPESCRIPT_FILES, async |folder| build_typescript(folder, &tools).await).await;
        TypescriptClient { tools, modules: built.join("user/node_modules") }
    }

    /// Compiles the project in the folder, whose `node_modules` becomes that of the client.
    pub async fn compile(&self, folder: &Path) {
        symlink(&self.modules, folder.join("node_modules")).expect("the folder has no packages yet");
        let mut compiler = Command::new("node");
        compiler.arg(self.tools.join("node_modules/typescript/bin/tsc")).args(["--project", ".", "--typeRoots"]);
        compiler.arg(self.tools.join("node_modules/@types")).current_dir(folder);
        run(compiler, STEP).await.unwrap_or_else(|why| panic!("{why}"));
    }
}

impl PythonClient {
    pub async fn installed() -> PythonClient {
        let tools = python_tools().await;
        let package = project("client-python", "", Suite::Python);
        let built = package.installed(&PYTHON_FILES, async |folder| build_python(folder, &tools).await).await;
        PythonClient { tools, python: built.join("user/bin/python") }
    }

    /// Checks the types of these files.
    pub async fn check(&self, folder: &Path, files: &[&str]) {
        let mut mypy = Command::new(&self.tools);
        mypy.args(["-m", "mypy", "--strict", "--cache-dir=.mypy", "--python-executable"]).arg(&self.python);
        mypy.args(files).current_dir(folder);
        run(mypy, STEP).await.unwrap_or_else(|why| panic!("{why}"));
    }
}

fn project(name: &'static str, sources: &str, suite: Suite) -> Project {
    Project { name, sources: root().join(sources), suite }
}

async fn build_typescript(folder: &Path, tools: &Path) -> Result<(), String> {
    let (package, user) = (folder.join(TYPESCRIPT_FOLDER), folder.join("user"));
    fs::create_dir(&user).map_err(|error| error.to_string())?;
    symlink(tools.join("node_modules"), package.join("node_modules")).map_err(|error| error.to_string())?;
    let mut pack = Command::new("npm");
    pack.args(["pack", "--pack-destination"]).arg(&user).current_dir(&package);
    run(pack, STEP).await?;
    fs::write(user.join("package.json"), r#"{"private":true,"type":"module"}"#).map_err(|error| error.to_string())?;
    let mut install = Command::new("npm");
    // The package has no dependencies.
    install.args(["install", "--offline", "--no-audit", "--no-fund"]).current_dir(&user);
    install.arg(format!("./practice-sync-client-{}.tgz", env!("CARGO_PKG_VERSION")));
    run(install, STEP).await.map(drop)
}

async fn build_python(folder: &Path, tools: &Path) -> Result<(), String> {
    let package = folder.join(PYTHON_FOLDER);
    let mut generate = Command::new(tools);
    generate.arg("generate.py").current_dir(&package);
    run(generate, STEP).await?;
    let pip = |python: &Path| {
        let mut pip = Command::new(python);
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).current_dir(&package);
        pip
    };
    let mut wheel = pip(tools);
    wheel.args(["wheel", ".", "--no-deps", "--no-build-isolation", "--wheel-dir", "wheel"]);
    run(wheel, STEP).await?;
    let user = folder.join("user");
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&user);
    run(venv, STEP).await?;
    let mut install = pip(&user.join("bin/python"));
    install.args(["install", "--constraint", "requirements.txt"]);
    install.arg(format!("wheel/practice_sync_client-{}-py3-none-any.whl", env!("CARGO_PKG_VERSION")));
    run(install, STEP).await.map(drop)
}
