import { randomUUID } from 'node:crypto';
import { closeSync, globSync, openSync, readSync, statSync } from 'node:fs';
import { eventually } from '@parley/testing/eventually';
import { unitNames } from '@parley/units';
import { createAgent, startSession } from './conversation.ts';
import type { TestMesh } from './mesh.ts';

export interface Span {
  /** The `service.name` of the process that sent the span: `parley-<unit>` in a mesh of processes. */
  service: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  links?: { traceId: string; spanId: string }[];
}

/** Logs and spans of a mesh since the observation began; other tests may use the mesh at the same time. */
export interface Observed {
  /** Returns the log lines of all the mesh's processes. */
  log(): string;
  /** Returns the mesh's spans as it has sent them. */
  spansText(): string;
  spans(): readonly Span[];
  /** Returns all texts since the observation began: logs, spans, and the metrics of every replica. */
  written(): Promise<Record<'log' | 'spans' | 'metrics', string>>;
  /** Resolves when all logs and spans written before the call can be read with `log` and `spans`. */
  allWritten(): Promise<void>;
}

/** The body of an OTLP trace request. */
interface ExportedSpans {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue?: string } }[] };
    scopeSpans: { spans: Omit<Span, 'service'>[] }[];
  }[];
}

/** Starts to observe a mesh. */
export function observe(mesh: TestMesh): Observed {
  const log = tailOf(mesh.logs);
  const spansText = tailOf(mesh.spans);
  const found: Span[] = [];
  let parsed = 0;
  const spans = () => {
    const text = spansText();
    for (const body of text.slice(parsed).split('\n').filter(Boolean)) {
      const { resourceSpans } = JSON.parse(body) as ExportedSpans;
      for (const { resource, scopeSpans } of resourceSpans) {
        const { stringValue: service = '' } =
          resource.attributes.find(({ key }) => key === 'service.name')?.value ?? {};
        found.push(...scopeSpans.flatMap(({ spans: sent }) => sent.map((span) => ({ ...span, service }))));
      }
    }
    parsed = text.length;
    return found;
  };
  return {
    log,
    spansText,
    spans,
    written: async () => ({ log: log(), spans: spansText(), metrics: await metricsOf(mesh) }),
    async allWritten() {
      // Each process writes its log lines and spans in order. So once the lines and spans of the failing turn below have arrived, all
      // earlier ones have arrived, too.
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

/** Returns a function that reads the complete lines that were written to the matching files after this call of `tailOf`. */
function tailOf(pattern: string): () => string {
  const places = new Map(globSync(pattern).map((file) => [file, statSync(file).size]));
  let text = '';
  return () => {
    for (const file of globSync(pattern)) {
      const from = places.get(file) ?? 0;
      const bytes = Buffer.alloc(statSync(file).size - from);
      const descriptor = openSync(file, 'r');
      readSync(descriptor, bytes, 0, bytes.length, from);
      closeSync(descriptor);
      const whole = bytes.subarray(0, bytes.lastIndexOf('\n') + 1);
      text += whole.toString('utf8');
      places.set(file, from + whole.length);
    }
    return text;
  };
}

/** Returns the trace id of a request that starts a turn, once gateway, session and agent have logged the request; undefined until then. */
function turnTraceOf(log: string, requestId: string): string | undefined {
  const lines = log.split('\n').filter((line) => line.includes(`"${requestId}"`));
  const isTold = ['gateway', 'session', 'agent'].every((unit) =>
    lines.some((line) => line.includes(`"unit":"${unit}"`)),
  );
  const [first] = lines;
  return isTold && first ? (JSON.parse(first) as { traceId?: string }).traceId : undefined;
}

/**
 * Searches texts for secrets, both as plain text and in hex, as PostgreSQL shows bytes. Returns one sentence for each hit. Searches for the
 * beginnings of secrets, because logs may truncate JSON values and tokens.
 */
export function foundIn(texts: Record<string, string>, secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => {
    const beginning = secret.slice(0, Math.max(20, secret.length - 8));
    const forms = [beginning, Buffer.from(beginning).toString('hex')];
    return Object.entries(texts).flatMap(([where, text]) =>
      forms.filter((form) => text.includes(form)).map((form) => `${secret} is in the ${where}: ${around(text, form)}`),
    );
  });
}

function around(text: string, secret: string): string {
  const at = text.indexOf(secret);
  return at < 0 ? '' : text.slice(Math.max(0, at - 300), at + 100);
}

/** Returns the metrics of every replica. */
async function metricsOf({ addresses }: TestMesh): Promise<string> {
  const urls = unitNames.flatMap((unit) => addresses(unit, 'ops'));
  const texts = urls.map(async (url) => (await fetch(`${url}/metrics`)).text());
  return (await Promise.all(texts)).join('\n');
}
