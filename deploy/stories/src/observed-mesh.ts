import { randomUUID } from 'node:crypto';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '@parley/chassis/config';
import { eventually } from '@parley/chassis/testing/eventually';
import type { ExecutionContext, TestFn } from 'ava';
import { createAgent, startSession } from './conversation.ts';
import { openMesh, type reachable } from './mesh.ts';
import { dataFolder } from './mesh-process.ts';
import { type RunningMesh, runningMesh } from './running-mesh.ts';
import { type ScriptedModel, sharedModel, startScriptedModel } from './scripted-model.ts';
import { startTraceCollector, type TraceCollector } from './trace-collector.ts';

/** What a mesh has told about itself. */
export interface Told {
  /** The log of all units, JSON lines. */
  log: string;
  /** What was sent to the collector, as it came. */
  spans: string;
  stderr: string;
}

/** A mesh that logs and traces everything it can. */
export interface ObservedMesh extends Pick<ReturnType<typeof reachable>, 'visitor' | 'person'> {
  model: ScriptedModel;
  collector: TraceCollector;
  /** The metrics of every replica, one after the other. */
  metrics(): Promise<string>;
  /** Everything about what has been done before. In one process the mesh ends with that. */
  told(): Promise<Told>;
}

/** The key by which the mesh asks its model: a secret that no test sends. */
export const modelKey = 'canary-model-key';

const units = ['gateway', 'identity', 'agent', 'session', 'evaluation'];

/** For each test a mesh of its own, or, for all of a file, the one that runs already. */
export function observedMesh(test: TestFn): (t: ExecutionContext) => Promise<ObservedMesh> {
  const running = runningMesh();
  if (!running) return ownMesh;
  const model = sharedModel(test);
  let joined: Promise<ObservedMesh> | undefined;
  test.after.always('the collector stops', async () => (await joined)?.collector.stop());
  return () => {
    joined ??= model().then((scripted) => joinedMesh(running, scripted));
    return joined;
  };
}

function settingsOf(model: ScriptedModel, collector: TraceCollector): Environment {
  return { ...model.env, ...collector.env, HOSTED_SMALL_MODEL_KEY: modelKey, LOG_LEVEL: 'trace' };
}

async function ownMesh(t: ExecutionContext): Promise<ObservedMesh> {
  const [model, collector] = await Promise.all([startScriptedModel(), startTraceCollector()]);
  t.teardown(() => Promise.all([model.server.stop(), collector.stop()]));
  const folder = await dataFolder(t, settingsOf(model, collector));
  const logFile = join(folder.path, 'parley.log');
  const mesh = await folder.start({ LOG_FILE: logFile });
  return {
    visitor: mesh.visitor,
    person: mesh.person,
    model,
    collector,
    metrics: () => metricsAt(Object.values(mesh.ops)),
    async told() {
      t.is(await mesh.stop(), 0, mesh.stderr()); // the last spans leave with it
      return { log: await readFile(logFile, 'utf8'), spans: collector.text(), stderr: mesh.stderr() };
    },
  };
}

async function joinedMesh(running: RunningMesh, model: ScriptedModel): Promise<ObservedMesh> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT = '', PARLEY_DATA_DIR = '' } = running.settings;
  const collector = await startTraceCollector(Number(new URL(OTEL_EXPORTER_OTLP_ENDPOINT).port));
  const mesh = await openMesh(settingsOf(model, collector));
  const logs = join(PARLEY_DATA_DIR, 'mesh/logs');
  const readLogs = async () => {
    const files = globSync('*-[0-9].log', { cwd: logs }).map((name) => readFile(join(logs, name), 'utf8'));
    return (await Promise.all(files)).join('');
  };
  return {
    visitor: mesh.visitor,
    person: mesh.person,
    model,
    collector,
    metrics: () => metricsAt(units.flatMap((unit) => mesh.addresses(unit, 'ops'))),
    async told() {
      // A process's lines and spans come in the order in which it wrote them. Those of a turn that fails come last.
      const marker = `marker-${randomUUID()}`;
      model.answer(marker, { status: 401 });
      const ada = await mesh.person();
      const sessionId = (await startSession(ada, await createAgent(ada))).id;
      const send = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
      await ada.send(send, { input: { sessionId, text: marker } }, { 'x-request-id': marker });
      const log = await eventually('the last lines', async () => {
        const text = await readLogs();
        const traceId = traceOf(text, marker);
        return traceId && collector.spans.some((span) => span.traceId === traceId && !span.parentSpanId) && text;
      });
      return { log, spans: collector.text(), stderr: '' }; // which is in the log of each
    },
  };
}

async function metricsAt(opsUrls: string[]): Promise<string> {
  const texts = opsUrls.map(async (url) => (await fetch(`${url}/metrics`)).text());
  return (await Promise.all(texts)).join('\n');
}

/** The trace of a request that all have logged who have to do with a turn; undefined while they have not. */
function traceOf(log: string, requestId: string): string | undefined {
  const lines = log.split('\n').filter((line) => line.includes(`"${requestId}"`));
  const isTold = ['gateway', 'session', 'agent'].every((unit) =>
    lines.some((line) => line.includes(`"unit":"${unit}"`)),
  );
  const [first] = lines;
  return isTold && first ? (JSON.parse(first) as { traceId?: string }).traceId : undefined;
}
