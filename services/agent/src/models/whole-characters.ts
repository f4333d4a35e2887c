import { isHighSurrogate } from '@parley/kernel/input-checks';

/** Joins surrogate pairs that a provider split over two deltas, because gRPC would replace a lone surrogate by U+FFFD. */
export function wholeCharacters() {
  let pending = '';
  return {
    push(delta: string): string {
      const text = pending + delta;
      const cut = text !== '' && isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.length - 1 : text.length;
      pending = text.slice(cut);
      return text.slice(0, cut).toWellFormed();
    },
    flush(): string {
      const text = pending.toWellFormed();
      pending = '';
      return text;
    },
  };
}
