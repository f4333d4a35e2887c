/** Returns the name under which `Database.onWake` listens for runnable jobs of this kind. */
export function wakeOf(kind: string): string {
  return `jobs:${kind}`;
}
