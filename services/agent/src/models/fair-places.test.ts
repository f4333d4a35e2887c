import test, { type ExecutionContext } from 'ava';
import { fairPlaces } from './fair-places.ts';

const never = new AbortController().signal;

/** Places, and who has been given one, in order. */
function placesOf(t: ExecutionContext, count: number) {
  const places = fairPlaces(count);
  const served: string[] = [];
  const taken: Disposable[] = [];
  return {
    places,
    served,
    async ask(tenantId: number, name = `${tenantId}`, signal = never) {
      const place = await places.admit(tenantId, signal);
      served.push(name);
      taken.push(place);
    },
    async release(which = 0) {
      const [place = t.fail('nobody has a place')] = taken.splice(which, 1);
      place[Symbol.dispose]();
      place[Symbol.dispose](); // once more is no second place
      await new Promise(setImmediate);
    },
  };
}

test('as many as there are places begin at once, and each further one with the next place', async (t) => {
  const { ask, served, release, places } = placesOf(t, 2);
  for (const name of ['a', 'b', 'c', 'd']) void ask(1, name);
  await new Promise(setImmediate);
  t.deepEqual(served, ['a', 'b']);
  t.is(places.waiting, 2);
  await release();
  t.deepEqual(served, ['a', 'b', 'c']);
  await release();
  await release();
  await release();
  t.deepEqual([served.length, places.waiting], [4, 0]);
});

test("a tenant's first call comes before the many that another has waiting", async (t) => {
  const { ask, served, release } = placesOf(t, 2);
  for (let call = 0; call < 10; call++) void ask(1);
  void ask(2);
  void ask(3);
  await new Promise(setImmediate);
  for (let ended = 0; ended < 4; ended++) await release();
  t.deepEqual(served, ['1', '1', '2', '3', '1', '1']);
});

test('among tenants that hold alike the places go round', async (t) => {
  const { ask, served, release } = placesOf(t, 1);
  for (const tenantId of [1, 1, 1, 2, 2, 3, 3]) void ask(tenantId);
  await new Promise(setImmediate);
  for (let ended = 0; ended < 6; ended++) await release();
  t.deepEqual(served, ['1', '2', '3', '1', '2', '3', '1']);
});

test('who gives up waiting leaves no trace, and is told why', async (t) => {
  const { ask, served, release, places } = placesOf(t, 1);
  const controller = new AbortController();
  void ask(1, 'holder');
  const gone = ask(2, 'gone', controller.signal);
  void ask(3, 'next');
  controller.abort(new Error('enough'));
  await t.throwsAsync(gone, { message: 'enough' });
  t.is(places.waiting, 1);
  await release();
  t.deepEqual(served, ['holder', 'next']);
  await t.throwsAsync(ask(4, 'late', controller.signal), { message: 'enough' });
  await release();
  void ask(5);
  await new Promise(setImmediate);
  t.deepEqual(served, ['holder', 'next', '5']);
});
