import type { JsonSchemas } from '@parley/json-schema/json-schemas';
import { DomainError } from '@parley/kernel/errors';
import type { Outbound } from '@parley/outbound/outbound';
import { type LargeWork, schemaBytes } from '../large-work.ts';
import { type AnswerBody, answerBody } from './answer-body.ts';
import { type Args, buildRequest } from './build-request.ts';
import { type CallErrorKind, type CallErrorReason, kindOfStatus } from './call-error-kind.ts';
import { type CallCredentials, type CredentialPorts, resolveCredential } from './credential.ts';
import type { CustomAction } from './custom-action.ts';
import { redactor } from './redact.ts';

/** Limits of one call: the size of the response, and the total time, including the request for a token. */
export const callLimits = { timeoutMs: 30_000, maxBytes: 1_048_576 };

export interface SendPorts extends CredentialPorts {
  outbound: Pick<Outbound, 'fetch'>;
  schemas: Pick<JsonSchemas, 'argsProblems'>;
  workOn: LargeWork;
  /** The limits of each call. Default: `callLimits`. */
  limits?: typeof callLimits;
}

export interface ActionCall extends CallCredentials {
  args: Args;
  /** Sent as `Idempotency-Key`, so that servers can deduplicate retried calls. */
  idempotencyKey?: string | undefined;
  /** Time limit of this call in ms. Its maximum and default is the `timeoutMs` of `SendPorts.limits`. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface ActionAnswer {
  status: number;
  /** The error kind; undefined if the status is 2xx. */
  errorKind: CallErrorKind | undefined;
  /** Selected response headers, by lower-case name. */
  headers: Record<string, string>;
  body: AnswerBody;
  /** Size of the decompressed body in bytes. */
  bytes: number;
}

const keptHeaders = [
  'content-type',
  'content-language',
  'date',
  'etag',
  'last-modified',
  'link',
  'location',
  'retry-after',
  'x-request-id',
  'x-correlation-id',
  'x-total-count',
];
const keptPrefixes = ['ratelimit', 'x-ratelimit-'];
const maxHeaderLength = 2_048;

/**
 * Calls an action once. A response of any status is a result, except a redirect, which is refused. Results and errors never contain the
 * credential.
 * @throws DomainError if the call fails because of its arguments, the credential or the outbound guard; `kindOfError` returns the error's
 * kind for a workflow
 */
export async function sendAction(ports: SendPorts, action: CustomAction, call: ActionCall): Promise<ActionAnswer> {
  await checkArgs(ports, action, call.args);
  const limits = ports.limits ?? callLimits;
  const { timeoutMs = limits.timeoutMs } = call;
  const endsAt = performance.now() + Math.min(timeoutMs, limits.timeoutMs);
  // The request is built first, so that no token is requested for a call that cannot be sent.
  buildRequest(action, call.args, {}, call.idempotencyKey);
  const credential = await withinDeadline(endsAt, call.signal, (signal) =>
    resolveCredential(ports, action, call, signal),
  );
  const { url, ...request } = buildRequest(action, call.args, credential.headers, call.idempotencyKey);

  const answer = await ports.outbound.fetch(url, {
    ...request,
    timeoutMs: Math.max(1, Math.ceil(endsAt - performance.now())),
    maxBytes: limits.maxBytes,
    redirects: 0,
    ...(call.signal && { signal: call.signal }),
  });
  if (answer.status === 401) await credential.refused?.();

  const redacted = redactor(credential.secrets);
  const { body } = answer;
  return {
    status: answer.status,
    errorKind: kindOfStatus(answer.status),
    headers: headersThatMatter(answer.headers, redacted.text),
    body: await ports.workOn(action.tenantId, body.length, () =>
      redactedBody(answerBody(body, answer.headers['content-type']), redacted),
    ),
    bytes: body.length,
  };
}

async function checkArgs(
  { schemas, workOn }: SendPorts,
  { argsSchema, tenantId }: CustomAction,
  args: Args,
): Promise<void> {
  const fields = await workOn(tenantId, schemaBytes(argsSchema), () =>
    schemas.argsProblems(argsSchema, args, 'args', { tenantId }),
  );
  if (fields.length === 0) return;
  const message = fields.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw new DomainError('invalid', message, { reason: 'BAD_ARGUMENTS' satisfies CallErrorReason, fields });
}

/** Runs `work` with the remaining time: one deadline covers the whole call, including the request for a token. */
async function withinDeadline<Value>(
  endsAt: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  signal?.throwIfAborted();
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(tooSlow()), Math.max(0, endsAt - performance.now()));
  try {
    return await work(signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal);
  } finally {
    clearTimeout(timer);
  }
}

function tooSlow(): DomainError {
  const reason: CallErrorReason = 'CREDENTIAL_UNAVAILABLE';
  return new DomainError('unavailable', "The action's credential was not there in time", { reason });
}

function headersThatMatter(headers: Readonly<Record<string, string>>, redact: (text: string) => string) {
  const kept = Object.entries(headers).filter(
    ([name]) => keptHeaders.includes(name) || keptPrefixes.some((prefix) => name.startsWith(prefix)),
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, redact(value).slice(0, maxHeaderLength)]));
}

function redactedBody(body: AnswerBody, redacted: ReturnType<typeof redactor>): AnswerBody {
  if (body.kind === 'json') {
    const text = redacted.jsonText(body.text, body.json);
    return text === body.text ? body : { kind: 'json', json: JSON.parse(text), text };
  }
  return body.kind === 'text' ? { kind: 'text', text: redacted.text(body.text) } : body;
}
