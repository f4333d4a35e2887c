export type PartitionProgress = ReturnType<typeof partitionProgress>;

/** The progress of one partition between two rebalances. */
export function partitionProgress() {
  const begun = new Set<bigint>(); // in the order in which they began
  let next: bigint | undefined;
  let committed: bigint | undefined;
  let end: bigint | undefined;

  const finishedUpTo = () => begun.values().next().value ?? next;

  return {
    /** Records that an event has begun. Call it in ascending order of offsets. */
    begin(offset: string): void {
      begun.add(BigInt(offset));
      next = BigInt(offset) + 1n;
    },
    finish: (offset: string) => void begun.delete(BigInt(offset)),
    /** Number of events that have begun and not finished. */
    get unfinished() {
      return begun.size;
    },
    /** Returns the offset to commit: all events before it are finished. Undefined if that offset has already been committed. */
    due(): string | undefined {
      const upTo = finishedUpTo();
      return upTo === undefined || upTo === committed ? undefined : String(upTo);
    },
    committed(offset: string): void {
      committed = BigInt(offset);
    },
    /** Returns the number of events between the offset to commit and the end of the partition; 0 while the end is unknown. */
    lag(): number {
      const upTo = finishedUpTo();
      return end === undefined || upTo === undefined || upTo >= end ? 0 : Number(end - upTo);
    },
    /** Records the end of the partition. `highWatermark` is the offset that the partition's next event will get. */
    endsAt(highWatermark: string): void {
      end = BigInt(highWatermark);
    },
  };
}
