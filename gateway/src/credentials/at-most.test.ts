import test from 'ava';
import { LRUCache } from 'lru-cache';
import { atMost } from './at-most.ts';

test('a cache keeps a bounded number of entries and evicts the least recently used one', (t) => {
  const cache = new LRUCache<string, number>(atMost(2));
  cache.set('a', 1).set('b', 2);
  cache.get('a');
  cache.set('c', 3);
  t.deepEqual([...cache.keys()].toSorted(), ['a', 'c']);
});
