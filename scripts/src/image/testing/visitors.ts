import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@parley/stories/client';
import { createAgent, endSession, findEvaluation, sendMessage, startSession } from '@parley/stories/conversation';
import {
  createKnowledgeBase,
  findPassages,
  ingestText,
  parsedDocument,
  readKnowledgeDocument,
  uploadFile,
} from '@parley/stories/knowledge';
import { followLastingly } from '@parley/stories/lasting-follower';
import { idsGrow, type SessionEvent } from '@parley/stories/session-events';
import { eventually } from '@parley/testing/eventually';

/** A failed request or a missing effect, with the time since the visitors started. */
export interface Failure {
  who: string;
  atMs: number;
  why: string;
}

/** How long a background effect may take while its unit is replaced. */
const patient = { timeoutMs: 90_000 };
/** Uploads are throttled to ten a minute. */
const uploadPauseMs = 7_000;

/**
 * Starts users of an installation, who continue until they `leave`: conversations with passages, replies on subscriptions, evaluations,
 * uploads, registrations, logins, and sequences of queries and mutations. They do not retry requests, so every refusal counts as a failure.
 */
export async function startVisitors(url: string) {
  const begun = performance.now();
  const failures: Failure[] = [];
  const done: Record<string, number> = {};
  const outages: Record<string, number> = {};
  const leaving = new AbortController();
  const { signal } = leaving;

  /** Repeats the work until the users leave. A failure is recorded, and the work starts again. */
  async function repeatedly(who: string, work: () => Promise<void>, pauseMs = 0): Promise<void> {
    while (!signal.aborted) {
      try {
        await work();
        done[who] = (done[who] ?? 0) + 1;
      } catch (error) {
        failures.push({ who, atMs: Math.round(performance.now() - begun), why: String(error) });
      }
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async function person(): Promise<Client> {
    const client = new Client(url);
    await client.register();
    return client;
  }

  const withBase = await person();
  const base = await createKnowledgeBase(withBase);
  await ingestText(withBase, base, '# Returns\n\nLamps can be returned within thirty days of the purchase.');
  const agentId = await createAgent(withBase, { knowledgeBaseIds: [base] });

  let talks = 0;
  async function talk(): Promise<void> {
    talks += 1;
    const nth = talks;
    const { id } = await startSession(withBase, agentId);
    const follower = followLastingly(withBase, id);
    try {
      for (const [index, text] of ['When can lamps be returned?', 'And chairs?'].entries()) {
        await sendMessage(withBase, id, `${text} (conversation ${nth})`);
        await eventually(
          `reply ${index + 1} in session ${id}`,
          () => repliesIn(follower.events).length > index,
          patient,
        );
      }
      await endSession(withBase, id);
      await eventually(`the evaluation of session ${id}`, () => findEvaluation(withBase, id), patient);
    } finally {
      await follower.leave();
      for (const { reason } of follower.outages) outages[reason] = (outages[reason] ?? 0) + 1;
    }
    const replies = repliesIn(follower.events);
    if (replies.length !== 2 || !idsGrow(follower.events)) throw new Error(`session ${id}: ${JSON.stringify(replies)}`);
  }

  const uploader = await person();
  const uploads = await createKnowledgeBase(uploader);
  let files = 0;
  async function upload(): Promise<void> {
    files += 1;
    const about = `harbour${files}`;
    const id = await uploadFile(uploader, uploads, `# ${about}\n\nThe ${about} opens at nine and closes at five.`);
    const { parseStatus, parseError } = await parsedDocument(uploader, id, patient.timeoutMs);
    if (parseStatus !== 'READY') throw new Error(`document ${id} is ${parseStatus}: ${parseError}`);
    await eventually(
      `passages of document ${id}`,
      async () =>
        (await findPassages(uploader, uploads, `When does the ${about} open?`)).some(
          (found) => found.documentId === id,
        ),
      patient,
    );
    await readKnowledgeDocument(uploader, id);
  }

  async function arrive(): Promise<void> {
    const phone = await (await person()).elsewhere();
    await phone.query('{ myTenant { id name } }');
    const refresh = 'mutation ($token: String!) { refreshToken(input: { refreshToken: $token }) { expiresIn } }';
    await phone.query(refresh, { token: phone.tokens?.refreshToken });
  }

  const editor = await person();
  const edited = await createAgent(editor);
  const update = 'mutation ($id: ID!, $name: String!) { updateAgent(id: $id, input: { name: $name }) { id name } }';
  let edits = 0;
  async function edit(): Promise<void> {
    edits += 1;
    await editor.query(update, { id: edited, name: `Maya ${edits}` });
    await editor.query('{ agents { id name } myTenant { id } }');
  }

  const all = [
    ...Array.from({ length: 4 }, () => repeatedly('conversations', talk)),
    repeatedly('uploads', upload, uploadPauseMs),
    repeatedly('arrivals', arrive, 1_000),
    ...Array.from({ length: 3 }, () => repeatedly('changes', edit, 50)),
  ];
  return {
    failures: failures as readonly Failure[],
    /** The number of completed rounds of each visitor. */
    done: done as Readonly<Record<string, number>>,
    /** The number of subscriptions that ended and were reopened, by reason. */
    outages: outages as Readonly<Record<string, number>>,
    sinceMs: () => Math.round(performance.now() - begun),
    /** Resolves when the users have finished their current work. */
    async leave(): Promise<void> {
      leaving.abort();
      await Promise.all(all);
    },
  };
}

const repliesIn = (events: SessionEvent[]) => events.filter(({ __typename }) => __typename === 'AiResponseEvent');
