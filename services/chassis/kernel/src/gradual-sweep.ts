/**
 * Keeps a map of expiring values bounded without a timer and without a long pause: each call looks at the next two
 * entries and removes the dead ones. Called once per write, it holds the map below about twice its live entries.
 */
export function gradualSweep<K, V>(map: Map<K, V>, isDead: (value: V) => boolean): () => void {
  let rest = map.entries();
  return () => {
    for (let looked = 0; looked < 2; looked++) {
      const next = rest.next();
      if (next.done) {
        rest = map.entries();
        return;
      }
      const [key, value] = next.value;
      if (isDead(value)) map.delete(key);
    }
  };
}
