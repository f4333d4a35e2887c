import { rule, text } from '@parley/kernel/input';
import { singleLineProblem, toSingleLine } from '@parley/text/single-line';

const maxLength = 255;

/** Parses a document's name. The name must be a single line, because people and models see it next to other text about the document. */
export function fileName() {
  return text(maxLength).check(rule(singleLineProblem));
}

export function fileNameFrom(title: string | undefined): string | undefined {
  return (
    Array.from(toSingleLine(title ?? ''))
      .slice(0, maxLength)
      .join('') || undefined
  );
}
