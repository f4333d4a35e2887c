import { randomUUID } from 'node:crypto';
import { globSync, readFileSync, statSync } from 'node:fs';
import { eventually } from '@parley/chassis/testing/eventually';
import { createAgent, startSession } from './conversation.ts';
import type { TestMesh } from './mesh.ts';

export interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  links?: { traceId: string; spanId: string }[];
}

/** What a mesh has told of itself since somebody began to listen; others may be at work on it meanwhile. */
export interface Observed {
  /** The log lines of all its processes. */
  log(): string;
  /** Its spans, as it sent them. */
  spansText(): string;
  spans(): Span[];
  /** Resolves when all that was done before has been told. */
  toldAll(): Promise<void>;
}

/** Listens to a mesh from now on. */
export function observe(mesh: TestMesh): Observed {
  const log = tailOf(mesh.logs);
  const spansText = tailOf(mesh.spans);
  const spans = () => {
    const requests = spansText().split('\n').filter(Boolean);
    return requests.flatMap((body) => {
      const { resourceSpans } = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
      return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
    });
  };
  return {
    log,
    spansText,
    spans,
    async toldAll() {
      // A process's lines and spans come in the order in which it wrote them. Those of a turn that fails come last.
      const marker = `marker-${randomUUID()}`;
      mesh.model.answer(marker, { status: 401 });
      const ada = await mesh.person();
      const sessionId = (await startSession(ada, await createAgent(ada))).id;
      const send = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
      await ada.send(send, { input: { sessionId, text: marker } }, { 'x-request-id': marker });
      await eventually('the last lines', () => {
        const traceId = turnTraceOf(log(), marker);
        return traceId && spans().some((span) => span.traceId === traceId && !span.parentSpanId);
      });
    },
  };
}

/** What is written from now on to the files of a pattern. Whole lines alone. */
function tailOf(pattern: string): () => string {
  const from = new Map(globSync(pattern).map((file) => [file, statSync(file).size]));
  return () =>
    globSync(pattern)
      .map((file) => {
        const text = readFileSync(file)
          .subarray(from.get(file) ?? 0)
          .toString('utf8');
        return text.slice(0, text.lastIndexOf('\n') + 1);
      })
      .join('');
}

/** The trace of a request that all have logged who have to do with a turn; undefined while they have not. */
function turnTraceOf(log: string, requestId: string): string | undefined {
  const lines = log.split('\n').filter((line) => line.includes(`"${requestId}"`));
  const isTold = ['gateway', 'session', 'agent'].every((unit) =>
    lines.some((line) => line.includes(`"unit":"${unit}"`)),
  );
  const [first] = lines;
  return isTold && first ? (JSON.parse(first) as { traceId?: string }).traceId : undefined;
}
