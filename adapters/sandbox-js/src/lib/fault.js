// Exceptions of a call; the kind determines the engine's next step. Reasons contain no patient data.

/** @typedef {{ tag: string, val?: string | { reason: string, seconds: number | null } }} Fault */

/** The EHR refused and always will. @param {string} reason @returns {Fault} */
export const rejected = (reason) => ({ tag: "rejected", val: reason });
/** Nothing was written: try again. @param {string} reason @param {number | null} seconds @returns {Fault} */
export const retryLater = (reason, seconds = null) => ({ tag: "retry-later", val: { reason, seconds } });
/** It may have been written: look it up. @param {string} reason @returns {Fault} */
export const unknown = (reason) => ({ tag: "unknown", val: reason });
/** The credentials are not accepted. @param {string} reason @returns {Fault} */
export const unauthorized = (reason) => ({ tag: "unauthorized", val: reason });
/** The EHR does not support it. @param {string} reason @returns {Fault} */
export const unsupported = (reason) => ({ tag: "unsupported", val: reason });
