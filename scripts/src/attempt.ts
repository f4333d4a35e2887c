/** Runs the work of a command. If the work fails, prints the error's message and sets the exit code 1. */
export async function attempt(work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    const problems = error instanceof SuppressedError ? [error.suppressed, error.error] : [error];
    for (const each of problems) process.stderr.write(`${each instanceof Error ? each.message : String(each)}\n`);
    process.exitCode = 1;
  }
}
