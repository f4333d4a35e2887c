/** How many tokens a text takes of a model's context, at most. */
export type TokenBound = (text: string) => number;

/**
 * Bytes of UTF-8: what no tokenizer exceeds, since each token stands for one byte at least. Three to four times what prose in
 * English really takes.
 */
export const strictTokenBound: TokenBound = (text) => Buffer.byteLength(text);

/**
 * What texts that people write stay below with the tokenizers of the models in use, none of which is known here: three letters
 * of a word a token and two capitals, each digit and sign one, each byte beyond ASCII one. Twice what prose in English really
 * takes. Random letters can take more: whoever is refused with it falls back to `strictTokenBound`.
 */
export const usualTokenBound: TokenBound = (text) => {
  let tokens = 0;
  let capitals = 0; // of the word so far
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
      tokens += isSmall(next) || isCapital(next) ? 0 : 1; // a space goes with the word after it
    else if (code < 0x80) tokens += 1;
    else if (code < 0x800 || (code >= 0xd800 && code <= 0xdfff)) tokens += 2;
    else tokens += 3;
  }
  endWord();
  return tokens;
};

/** Longer runs of letters are no words: each letter may be a token then. */
const longWord = 24;

const isSmall = (code: number) => code >= 97 && code <= 122;
const isCapital = (code: number) => code >= 65 && code <= 90;
