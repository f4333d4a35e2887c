/** Returns the `Database.onWake` name for runnable jobs of this kind. */
export function wakeOf(kind: string): string {
  return `jobs:${kind}`;
}
