import { randomUUID } from 'node:crypto';
import type { Environment } from '@parley/chassis/config';
import { openDatabase } from '@parley/chassis/database/open';
import type { Envelope } from '@parley/chassis/events/envelope';
import { once } from '@parley/chassis/events/inbox';
import { readTopic } from '@parley/chassis/events/kafka-dead-letters';
import { toMessage } from '@parley/chassis/events/kafka-message';
import { kafkaProducer } from '@parley/chassis/events/kafka-producer';
import { createGate } from '@parley/chassis/testing/gate';
import { schemas } from '@parley/local/schemas';
import { SessionEnded } from '@parley/protos/parley/session/v1/events';
import { kafkaOf } from './events-again.ts';

export const poisonedTopic = 'session-ended';

/** Publishes what no consumer can handle, with the key of a session: what is told of that session comes behind it. */
export function poisoner(env: Environment) {
  const connection = kafkaOf(env);

  async function send(message: Parameters<ReturnType<typeof kafkaProducer>['send']>[1][0]): Promise<void> {
    const producer = kafkaProducer(connection);
    await producer.send(poisonedTopic, [message]);
    await producer.close();
  }

  async function publish(sessionId: number, part: Partial<Envelope>, id = randomUUID()): Promise<string> {
    const data = SessionEnded.encode({ sessionId, agentId: 1, status: 'ENDED', endedAt: new Date() }).finish();
    const event = { topic: poisonedTopic, type: 'session.ended.v1', source: 'session', tenantId: 1, time: new Date() };
    await send(toMessage({ ...event, data, ...part, id, key: String(sessionId) }));
    return id;
  }

  return {
    /** A payload that breaks off. Answers the event's id. */
    unparsable: (sessionId: number) => publish(sessionId, { data: new Uint8Array([0x1a, 0x7f, 0x45]) }),
    /** An event of a tenant whose id no database takes. Answers its id. */
    failing: (sessionId: number) => publish(sessionId, { tenantId: 2 ** 31 }),
    /** Its handler hangs, since somebody holds its mark in the inbox until `letGo`, and has no mark in the end. */
    async hanging(sessionId: number) {
      const schema = schemas.find(({ name }) => name === 'evaluation');
      if (!schema) throw new Error('there is no evaluation');
      const database = openDatabase({ url: env.DATABASE_URL ?? '', schema, poolSize: 1, statementTimeoutMs: 120_000 });
      const id = randomUUID();
      const rest = createGate();
      const held = Promise.withResolvers<void>();
      const takenBack = new Error('the mark is taken back');
      const holding = database.transact(1, (db) =>
        once(db, 'evaluation', id, async () => {
          held.resolve();
          await rest.pass();
          throw takenBack;
        }),
      );
      holding.catch(held.reject);
      await held.promise;
      await publish(sessionId, {}, id);
      return {
        id,
        async letGo() {
          rest.open();
          await holding.catch((error: unknown) => {
            if (error !== takenBack) throw error;
          });
          await database.close();
        },
      };
    },
    /** What is no event at all. Answers its place in the topic. */
    async noEvent(sessionId: number) {
      const value = `no event ${randomUUID()}`;
      await send({ key: String(sessionId), value: Buffer.from(value), headers: {} });
      const found = (await readTopic(connection, poisonedTopic)).find(({ message }) => String(message.value) === value);
      if (!found) throw new Error('what was published is not there');
      return found.place;
    },
  };
}
