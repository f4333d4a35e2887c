/**
 * Bounds an `LRUCache` to a number of entries. Its option `max` allocates room for all of them at once, which takes 5 ms
 * and 0.8 MB for 20,000; with a total size the cache grows as it is filled.
 */
export function atMost(entries: number) {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
