/**
 * Removes expired values from a map without a timer or a long pause: each call checks the next two entries. If it is called once per write,
 * fewer than about half of the map's entries are expired.
 */
export function gradualSweep<K, V>(map: Map<K, V>, isExpired: (value: V) => boolean): () => void {
  let entries = map.entries();
  return () => {
    for (let checked = 0; checked < 2; checked++) {
      const next = entries.next();
      if (next.done) {
        entries = map.entries();
        return;
      }
      const [key, value] = next.value;
      if (isExpired(value)) map.delete(key);
    }
  };
}
