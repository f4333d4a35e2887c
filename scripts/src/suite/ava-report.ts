export interface Counts {
  passed: number;
  failed: number;
  /** Written as `test.skip` or `test.todo`: neither passed nor failed. */
  skipped: number;
}

/** Counts the tests of a TAP report, which says `ok` or `not ok` once for each. */
export function countTap(tap: string): Counts {
  const results = tap.split('\n').filter(isResult);
  const ran = results.filter((line) => !isSkipped(line));
  const passed = ran.filter((line) => line.startsWith('ok ')).length;
  return { passed, failed: ran.length - passed, skipped: results.length - ran.length };
}

/** What a TAP report and the output around it say beside the tests that passed. */
export function withoutPassed(output: string): string {
  return output
    .split('\n')
    .filter((line) => !(line.startsWith('ok ') && isResult(line)))
    .join('\n')
    .trim();
}

function isResult(line: string): boolean {
  return /^(not )?ok \d+ /.test(line);
}

function isSkipped(line: string): boolean {
  return / # (SKIP|TODO)\b/.test(line);
}
