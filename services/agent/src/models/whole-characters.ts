import { isHighSurrogate } from '@parley/kernel/input-checks';

/**
 * Joins the halves of characters that a provider split over two deltas: a half alone would become U+FFFD on its way
 * over gRPC. `push` gives what may leave now, perhaps nothing; `rest` what is still held at the end.
 */
export function wholeCharacters() {
  let held = '';
  return {
    push(delta: string): string {
      const text = held + delta;
      const cut = text !== '' && isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.length - 1 : text.length;
      held = text.slice(cut);
      return text.slice(0, cut).toWellFormed();
    },
    rest(): string {
      const text = held.toWellFormed();
      held = '';
      return text;
    },
  };
}
