//! The generated host bindings of the contract, for conversions, imports and calls.

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
