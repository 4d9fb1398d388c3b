// QuickJS has no TextEncoder and no TextDecoder. Its URI functions are written in C and know UTF-8; `escape` and `unescape` join them
// to bytes, which they see as the characters U+0000 to U+00FF.

/** Bytes that become a string in one step: a call takes only so many arguments. */
const STEP = 8_192;

/** @param {string} text @returns {Uint8Array} */
export function encode(text) {
  const bytes = unescape(encodeURIComponent(text));
  return Uint8Array.from(bytes, (byte) => byte.charCodeAt(0));
}

/** Throws where the bytes are not UTF-8. @param {Uint8Array} bytes @returns {string} */
export function decode(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += STEP) {
    // Typed arrays are as good as arrays there.
    text += String.fromCharCode.apply(null, /** @type {any} */ (bytes.subarray(at, at + STEP)));
  }
  // The detour is for other letters than those of ASCII: most answers have none.
  return /[\x80-\xff]/.test(text) ? decodeURIComponent(escape(text)) : text;
}
