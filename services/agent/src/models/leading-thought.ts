/** The tags in which reasoning models wrap their thoughts before the text of their answer. */
const tags = ['think', 'thinking'] as const;

export interface Heard {
  text: string;
  thought: string;
}

/** Separates the thought blocks at the beginning of an answer from the text, piece by piece. */
export function leadingThought() {
  /**
   * Text that may be the beginning of a tag. The spaces before it are stored separately, so that this text stays short even if the spaces
   * never end.
   */
  let held = '';
  let spaces = '';
  let hasThought = false;
  let state: 'beginning' | 'text' | { closing: string } = 'beginning';

  function push(piece: string): Heard {
    if (state === 'text') return { text: piece, thought: '' };
    if (state === 'beginning' && held === '') {
      const begun = piece.trimStart();
      if (!hasThought) spaces += piece.slice(0, piece.length - begun.length);
      held = begun;
      if (held === '') return { text: '', thought: '' };
    } else {
      held += piece;
    }
    const heard = { text: '', thought: '' };
    for (;;) {
      if (state === 'beginning') {
        const tag = tags.find((each) => held.startsWith(`<${each}>`));
        if (tag === undefined) {
          if (tags.some((each) => `<${each}>`.startsWith(held))) return heard;
          return { ...heard, text: takeText() };
        }
        state = { closing: `</${tag}>` };
        hasThought = true;
        spaces = '';
        held = held.slice(tag.length + 2);
      }
      const { closing }: { closing: string } = state;
      const end = held.indexOf(closing);
      if (end < 0) {
        const from = beginningAtEnd(held, closing);
        heard.thought += held.slice(0, from);
        held = held.slice(from);
        return heard;
      }
      heard.thought += held.slice(0, end);
      held = held.slice(end + closing.length).trimStart();
      state = 'beginning';
    }
  }

  function takeText(): string {
    const text = spaces + held;
    held = '';
    spaces = '';
    state = 'text';
    return text;
  }

  return {
    push,
    /** Number of characters that may still become either text or thought. */
    get held() {
      return spaces.length + held.length;
    },
    /**
     * Returns what remains at the end of the answer: an unfinished thought, or text that only looked like a tag. If only spaces remain,
     * they are dropped.
     */
    flush(): Heard {
      if (typeof state === 'object') return { text: '', thought: held };
      return { text: held === '' ? '' : takeText(), thought: '' };
    },
  };
}

/** Returns the index from which the rest of the text is a beginning of `tag`; the text's length if there is no such index. */
function beginningAtEnd(text: string, tag: string): number {
  for (let from = Math.max(0, text.length - tag.length + 1); from < text.length; from += 1) {
    if (tag.startsWith(text.slice(from))) return from;
  }
  return text.length;
}
