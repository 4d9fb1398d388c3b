//! The generated host bindings of the contract. Only `convert`, `entry`, `imports` and `call` use them.

wasmtime::component::bindgen!({
    path: "../../wit/v1",
    world: "practice-sync:ehr/adapter",
    imports: {
        "practice-sync:ehr/http.send": async | trappable,
        "practice-sync:ehr/gate.send": async | trappable,
        default: trappable,
    },
    exports: { default: async },
});
