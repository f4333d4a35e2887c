interface Waiting<Change> {
  change: Change;
  done(isMade: boolean): void;
  fail(error: unknown): void;
}

/** Number of concurrent groups: one executes while the commit of the other is written. */
const groupsAtOnce = 2;
const maxInGroup = 500;

/**
 * Collects changes of all tenants into groups, so that many changes share one transaction. A group is collected while
 * earlier groups run. A tenant has changes in only one running group at a time.
 * @param make applies the changes of a group in one step and returns those applied
 */
export function ledgerGroups<Change>(make: (changes: Map<number, Change[]>) => Promise<ReadonlySet<Change>>) {
  const waiting = new Map<number, Waiting<Change>[]>();
  const underWay = new Set<number>();
  let running = 0;
  let isDue = false;

  function take(): Map<number, Waiting<Change>[]> {
    const taken = new Map<number, Waiting<Change>[]>();
    let free = maxInGroup;
    for (const [tenantId, queue] of waiting) {
      if (free === 0) break;
      if (underWay.has(tenantId)) continue;
      const own = queue.splice(0, free);
      free -= own.length;
      taken.set(tenantId, own);
      if (queue.length === 0) waiting.delete(tenantId);
    }
    return taken;
  }

  async function run(group: Map<number, Waiting<Change>[]>): Promise<void> {
    const all = [...group.values()].flat();
    try {
      const changes = [...group].map(([tenantId, own]) => [tenantId, own.map(({ change }) => change)] as const);
      const made = await make(new Map(changes));
      for (const { change, done } of all) done(made.has(change));
    } catch (error) {
      for (const { fail } of all) fail(error);
    } finally {
      for (const tenantId of group.keys()) underWay.delete(tenantId);
      running -= 1;
      begin();
    }
  }

  function begin(): void {
    isDue = false;
    while (running < groupsAtOnce) {
      const group = take();
      if (group.size === 0) return;
      for (const tenantId of group.keys()) underWay.add(tenantId);
      running += 1;
      void run(group);
    }
  }

  /** Resolves to true if the change was applied, and to false if it was skipped; rejects if its whole group failed. */
  return (tenantId: number, change: Change): Promise<boolean> =>
    new Promise((done, fail) => {
      const queue = waiting.get(tenantId) ?? [];
      queue.push({ change, done, fail });
      waiting.set(tenantId, queue);
      if (isDue) return;
      isDue = true;
      setImmediate(begin); // changes of one event-loop iteration share a group
    });
}
