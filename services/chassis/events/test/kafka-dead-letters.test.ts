import { randomBytes } from 'node:crypto';
import { collectGarbage } from '@parley/testing/collect-garbage';
import type { Envelope } from '../src/envelope.ts';
import { deadLetterTopic } from '../src/event-bus.ts';
import { toDeadLetter, toMessage } from '../src/kafka-message.ts';
import { kafkaProducer } from '../src/kafka-producer.ts';
import { testBrokers as brokers, kafkaSetup, onKafka } from './support/kafka-test.ts';

onKafka((test) => {
  /** Stores these events as dead letters. */
  async function giveUp(t: Parameters<typeof kafkaSetup>[0], topic: string, events: Envelope[]): Promise<void> {
    const producer = kafkaProducer({ brokers });
    t.teardown(() => producer.close());
    const facts = { group: 'a', attempts: 5, reason: 'no ink', time: new Date(), topic, partition: 0 };
    const letters = events.map((event, n) => {
      const { key, value, headers } = toMessage(event);
      const stored = { key: Buffer.from(String(key)), value: value as Buffer, headers: headers ?? {} };
      return toDeadLetter(stored, { ...facts, offset: String(n) });
    });
    await producer.send(deadLetterTopic(topic), letters);
  }

  test('dead letters are visited one after the other as they were stored, without those that come meanwhile', async (t) => {
    const { event, topic, forEachLetter, replay } = await kafkaSetup(t);
    const events = [event('1'), event('2')];
    await giveUp(t, topic, events);
    const seen: (string | undefined)[] = [];
    let underWay = 0;
    await forEachLetter(async (letter) => {
      underWay += 1;
      t.is(underWay, 1);
      seen.push(letter.event?.id);
      t.false(letter.wasReplayed);
      if (letter.event?.key === '1') await replay(topic, letter);
      await giveUp(t, topic, [event('3')]);
      underWay -= 1;
    });
    t.deepEqual(
      seen,
      events.map(({ id }) => id),
    );
    const replayed: (string | undefined)[] = [];
    await forEachLetter(({ event: of, wasReplayed }) => void (wasReplayed && replayed.push(of?.key)));
    t.deepEqual(replayed, ['1']);
  });

  test('an error of a visit ends the reading of dead letters', async (t) => {
    const { event, topic, forEachLetter } = await kafkaSetup(t);
    await giveUp(t, topic, [event('1'), event('2')]);
    let visits = 0;
    const visiting = forEachLetter(() => {
      visits += 1;
      throw new Error('no more');
    });
    await t.throwsAsync(visiting, { message: 'no more' });
    t.is(visits, 1);
  });

  test('dead letters that were visited are not kept in memory', async (t) => {
    const { event, topic, forEachLetter } = await kafkaSetup(t);
    const many = 16;
    const large = Array.from({ length: many }, (_, n) => event(String(n), { data: randomBytes(250_000) }));
    await giveUp(t, topic, large);
    const visited: WeakRef<object>[] = [];
    let kept = many;
    await forEachLetter(({ message }) => {
      visited.push(new WeakRef(message));
      if (visited.length < many) return;
      collectGarbage();
      kept = visited.filter((letter) => letter.deref()).length;
    });
    t.true(kept <= many / 2, `${kept} of ${many}`);
  });
});
