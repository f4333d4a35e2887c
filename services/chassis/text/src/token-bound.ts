export type TokenBound = (text: string) => number;

/**
 * The number of UTF-8 bytes, which no tokenizer exceeds, because a token is at least one byte. For English prose this is three to four
 * times the real number.
 */
export const strictTokenBound: TokenBound = (text) => Buffer.byteLength(text);

/**
 * An upper bound for the number of tokens that the usual tokenizers produce for a text written by people. It counts one token for three
 * lower-case letters of a word, two capitals, a digit, a sign, or a byte beyond ASCII. For English prose this is twice the real number.
 * Random letters can take more tokens, so a caller falls back to `strictTokenBound` if the model refuses its request as too long.
 */
export const usualTokenBound: TokenBound = (text) => {
  let tokens = 0;
  let capitals = 0;
  let smalls = 0;
  const endWord = () => {
    const letters = capitals + smalls;
    tokens += letters > longWord ? letters : Math.ceil(capitals / 2 + smalls / 3);
    capitals = 0;
    smalls = 0;
  };
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isSmall(code)) {
      smalls += 1;
      continue;
    }
    if (isCapital(code)) {
      if (smalls > 0) endWord();
      capitals += 1;
      continue;
    }
    endWord();
    const next = text.charCodeAt(at + 1);
    if (code === 32)
      tokens += isSmall(next) || isCapital(next) ? 0 : 1; // a space belongs to the token of the next word
    else if (code < 0x80) tokens += 1;
    else if (code < 0x800 || (code >= 0xd800 && code <= 0xdfff)) tokens += 2;
    else tokens += 3;
  }
  endWord();
  return tokens;
};

/** In a run of letters that is longer than this, each letter may be a token. */
const longWord = 24;

const isSmall = (code: number) => code >= 97 && code <= 122;
const isCapital = (code: number) => code >= 65 && code <= 90;
