import { rule, text } from '@parley/kernel/input';
import { singleLineProblem, toSingleLine } from '@parley/text/single-line';

const maxLength = 255;

/** Of a document. One line, because people and models see it beside what is said of the document. */
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
