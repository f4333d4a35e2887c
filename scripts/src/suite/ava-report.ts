export interface Counts {
  passed: number;
  failed: number;
  /** Skipped, still to be written, or known to fail: neither passed nor failed. */
  skipped: number;
}

const passed = /^ {2}✔ (?!\[expected fail\])/;
const skipped = /^ {2}(- \[(skip|todo)\]|✔ \[expected fail\]) /;
// A test that failed, and one that was still running when ava gave up.
const failed = /^ {2}(✘ \[(fail|unexpected pass)\]: |◌ )/;
// What went wrong outside any test, as the summary counts it.
const outside = /^ {2}(\d+) (unhandled rejection|uncaught exception|hooks? failed)/;

/**
 * Counts the tests in ava's own report, whole or cut off. Its TAP reporter would be made for this, but in 8.1 it
 * crashes when a test times out.
 */
export function countTests(report: string): Counts {
  const lines = report.split('\n');
  const count = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
  const outsideTests = lines.reduce((sum, line) => sum + Number(outside.exec(line)?.[1] ?? 0), 0);
  return { passed: count(passed), failed: count(failed) + outsideTests, skipped: count(skipped) };
}

/** A report without the tests that passed: what a developer reads when one did not. */
export function withoutPassed(report: string): string {
  return report
    .split('\n')
    .filter((line) => !passed.test(line))
    .join('\n')
    .trim();
}

/** What tests said with `t.log`, in the order of the report. */
export function loggedLines(report: string): string[] {
  return report
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('ℹ '));
}
