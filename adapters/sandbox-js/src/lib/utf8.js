// QuickJS has no TextEncoder and no TextDecoder. Its URI functions are written in C and support UTF-8. `escape` and
// `unescape` convert between them and bytes, represented as the characters U+0000 to U+00FF.

/** Bytes converted to a string in one step, because the number of arguments of a call is limited. */
const STEP = 8_192;

/** @param {string} text @returns {Uint8Array} */
export function encode(text) {
  const bytes = unescape(encodeURIComponent(text));
  return Uint8Array.from(bytes, (byte) => byte.charCodeAt(0));
}

/** Throws if the bytes are not UTF-8. @param {Uint8Array} bytes @returns {string} */
export function decode(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += STEP) {
    // `apply` also accepts typed arrays in QuickJS.
    text += String.fromCharCode.apply(null, /** @type {any} */ (bytes.subarray(at, at + STEP)));
  }
  // Only needed for non-ASCII letters, which most responses do not contain.
  return /[\x80-\xff]/.test(text) ? decodeURIComponent(escape(text)) : text;
}
