//! What the bindings generator makes of the contract, host side. Only `convert`, `entry`, `imports` and `call` look at it.

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
