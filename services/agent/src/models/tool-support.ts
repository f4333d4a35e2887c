import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Model, ModelRequest } from './model.ts';
import { providerFault } from './provider-fault.ts';
import { hasTools } from './tool-prompt.ts';
import { plainTool } from './tool-schema.ts';

/** What a provider refuses in a request with tools: their schemas, or tools in general. */
export type ToolRefusal = 'schemas' | 'tools';

/** Thrown when a request is refused because of its tools, before any output. */
export class ToolsRefused extends Error {
  override readonly name = 'ToolsRefused';
  readonly refused: ToolRefusal;

  constructor(refused: ToolRefusal) {
    super(`The model takes no ${refused}`);
    this.refused = refused;
  }
}

/** How long a refusal is remembered. Afterwards the tools are sent again, because an operator may have enabled tools. */
const rememberedMs = 10 * 60_000;
const maxRefused = 1_000;

interface Log {
  warn(fields: Record<string, unknown>, message: string): void;
}

export type ToolSupport = ReturnType<typeof toolSupport>;

/**
 * Remembers which tools one model accepts. A refusal applies only to requests with the same tools, so that one tenant's tools do not
 * disable another tenant's tools.
 */
export function toolSupport(
  { providerId, modelId }: Pick<Model, 'providerId' | 'modelId'>,
  log: Log,
  now: () => number = () => performance.now(),
) {
  const known = new LRUCache<string, ToolRefusal>({
    max: maxRefused,
    ttl: rememberedMs,
    ttlResolution: 0,
    perf: { now },
  });
  const logged = new Set<ToolRefusal>();

  return {
    /** Returns the request without the tools or schemas that the model is known to refuse. */
    adapted(request: ModelRequest): ModelRequest {
      if (!hasTools(request) || known.size === 0) return request;
      const refused = known.get(keyOf(request));
      return refused ? without(refused, request) : request;
    },
    without,
    /** Records that the model has refused a request with tools, and has then answered it without them. */
    learned(refused: ToolRefusal, given: ModelRequest): void {
      known.set(keyOf(given), refused);
      if (logged.has(refused)) return;
      logged.add(refused);
      log.warn({ providerId, modelId, refused }, 'model refuses tools; answers without');
    },
  };
}

function without(refused: ToolRefusal, request: ModelRequest): ModelRequest {
  return { ...request, tools: refused === 'tools' ? [] : (request.tools ?? []).map(plainTool) };
}

function keyOf({ tools = [] }: ModelRequest): string {
  return createHash('sha256').update(JSON.stringify(tools)).digest('base64');
}

/**
 * Returns the part of a request that a provider refused; undefined for any other failure. Providers share no error code for refused tools,
 * so messages are matched.
 */
export function toolRefusalOf(thrown: unknown): ToolRefusal | undefined {
  const { status, names, message } = providerFault(thrown);
  if (status !== undefined && !refusingStatuses.has(status)) return undefined;
  const said = `${names.join(' ')} ${message.slice(0, comparedLength)}`;
  if (aboutSchema.test(said)) return 'schemas';
  return refusesTools.test(said) || needsSwitch.test(said) ? 'tools' : undefined;
}

const refusingStatuses = new Set([400, 404, 405, 422, 500, 501]);
const comparedLength = 1_000;
const tools = String.raw`\b(?:tools?|function[ _-]?call(?:s|ing)?|functions)\b`;
const refusal = String.raw`not (?:be )?(?:supported|enabled|available|permitted|allowed|support)|unsupported|(?:does|do)(?:n['’]t| not) support|no endpoints? found|extra inputs|unrecognized|unknown (?:field|name|parameter)`;
const refusesTools = new RegExp(`${tools}[^]{0,100}(?:${refusal})|(?:${refusal})[^]{0,100}${tools}`, 'iu');
/** The errors of vLLM and llama.cpp name the command-line option without which they refuse tools. */
const needsSwitch = /\btools? (?:choice|param)\S* requires? --/iu;
const aboutSchema =
  /invalid_function_parameters|invalid schema|input_?schema|json[ _]?schema|function_?declarations?\[|tool_?spec\b|parameters\.(?:properties|type)|grammar/iu;
