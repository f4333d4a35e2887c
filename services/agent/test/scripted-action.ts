import type { Callers } from '@parley/kernel/caller';
import { badRequest, notFound, unavailable } from '@parley/kernel/errors';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { Addresses } from '@parley/kernel/processes/addresses';
import {
  ActionServiceDefinition,
  type CallActionRequest,
  CallResult,
  type CallToolRequest,
  type CheckToolsRequest,
  type DescribeToolsRequest,
  type ListToolsRequest,
  type ListTurnCallsRequest,
  type ToolDescription,
  type ToolRef,
  TurnCall,
} from '@parley/protos/parley/action/v1/action';
import { type ServedStub, serveStub } from '@parley/testing/serve-stub';
import type { ExecutionContext } from 'ava';

/** A tool call that the stub has received. */
export interface MadeCall {
  /** The tool's name in the form of `nameOf`. */
  tool: string;
  arguments: Record<string, unknown>;
  /** The key of the call, in the form `<turn> <call>`. */
  key: string;
  request: CallToolRequest | CallActionRequest;
}

export type ScriptedResult = Parameters<typeof CallResult.fromPartial>[0];

/** A stub of the action service's methods that the agent service calls. Tenant 1 has connectors and actions with the ids 1 to 9. */
export interface ScriptedAction {
  /** Names (see `nameOf`) of deleted tools. */
  readonly deleted: Set<string>;
  /**
   * Returns fields that replace those of a tool's default description; undefined if the tool is missing. The default description has the
   * tool's name and a schema without rules.
   */
  describe: (tool: string) => Partial<ToolDescription> | undefined | Promise<Partial<ToolDescription> | undefined>;
  /** The tools of each connector, or why they cannot be listed. Default: connector 3 has `search`. */
  listedTools: Record<number, string[] | { errorKind: string }>;
  /** Returns the result of a call. */
  answer: (call: MadeCall, signal: AbortSignal) => ScriptedResult | Promise<ScriptedResult>;
  /** Whether a call continues after its caller disconnects. Default false: the call's signal aborts. */
  outlivesItsCaller: boolean;
  /** Whether the request for the calls of a turn fails. Default false. */
  listFails: boolean;
  readonly checked: string[][];
  readonly described: string[][];
  /** Time limits, in ms, of the requests for tool descriptions. */
  readonly timeLimits: number[];
  /** The calls that were executed, each once. */
  readonly made: MadeCall[];
  /** All requested calls, including repeated requests for the same call. */
  readonly asked: MadeCall[];
  readonly listed: string[];
  readonly toolsListed: ListToolsRequest[];
  stub: Pick<ServedStub, 'stop' | 'restart'>;
}

/** Returns the name of a tool: `3/search` for the tool `search` of connector 3, `#5` for action 5. */
export function nameOf({ target }: Pick<ToolRef, 'target'>): string {
  if (target?.$case === 'actionId') return `#${target.value}`;
  return target ? `${target.value.connectorId}/${target.value.name}` : '';
}

interface Begun {
  call: TurnCall;
  result: Promise<CallResult>;
}

export async function scriptedAction(
  t: Pick<ExecutionContext, 'teardown'>,
  { callers, addresses }: { callers: Callers; addresses?: Addresses },
): Promise<ScriptedAction & { address: string }> {
  const begun = new Map<string, Begun>();
  const self: Omit<ScriptedAction, 'stub'> = {
    deleted: new Set(),
    describe: () => ({}),
    listedTools: { 3: ['search'] },
    answer: () => ({ body: { $case: 'text', value: 'Done.' } }),
    outlivesItsCaller: false,
    listFails: false,
    checked: [],
    described: [],
    timeLimits: [],
    made: [],
    asked: [],
    listed: [],
    toolsListed: [],
  };

  function isThere(tenantId: number | null, ref: ToolRef): boolean {
    const id = ref.target?.$case === 'tool' ? ref.target.value.connectorId : (ref.target?.value ?? 0);
    return tenantId === 1 && id >= 1 && id <= 9 && !self.deleted.has(nameOf(ref));
  }

  function listOf(id: number, { connectorIds, ofAll }: ListToolsRequest): { tools: string[]; errorKind: string } {
    const list = ofAll || connectorIds.includes(id) ? (self.listedTools[id] ?? []) : [];
    return Array.isArray(list) ? { tools: list, errorKind: '' } : { tools: [], ...list };
  }

  async function call(ref: ToolRef, request: CallToolRequest | CallActionRequest, signal: AbortSignal) {
    const { turn = '', call: name = '', note } = request.key ?? {};
    const given = parseJson(request.argumentsJson);
    if (turn === '' || name === '') throw badRequest('a bad key');
    if (!isJsonObject(given) || request.argumentsJson.length > 10_000) throw badRequest('arguments_json is too long');
    if ((note?.length ?? 0) > 100_000) throw badRequest('a note that is too long');
    const key = `${turn} ${name}`;
    const made = { tool: nameOf(ref), arguments: given, key, request };
    self.asked.push(made);
    const known = begun.get(key) ?? begin(ref, made, signal);
    return { result: await known.result };
  }

  function begin(ref: ToolRef, made: MadeCall, signal: AbortSignal): Begun {
    self.made.push(made);
    const { argumentsJson, key } = made.request;
    const turnCall = TurnCall.fromPartial({ ref, argumentsJson, key: key ?? {} });
    const own = self.outlivesItsCaller ? new AbortController().signal : signal;
    const result = (async () => {
      try {
        return CallResult.fromPartial({ durationMs: 7, ...(await self.answer(made, own)) });
      } catch (error) {
        if (!own.aborted) throw error;
        return CallResult.fromPartial({ errorKind: 'CALL_CANCELLED', errorMessage: 'The call was cancelled' });
      }
    })();
    const entry = { call: turnCall, result };
    begun.set(made.key, entry);
    result.then(
      (ended) => Object.assign(turnCall, { result: ended }),
      () => begun.delete(made.key),
    );
    return entry;
  }

  const stub = await serveStub(
    t,
    ActionServiceDefinition,
    {
      async checkTools({ tools }: CheckToolsRequest, { caller }) {
        self.checked.push(tools.map(nameOf));
        const absent = tools.find((ref) => !isThere(caller.tenantId, ref));
        if (absent?.target?.$case === 'tool') throw notFound('MCP connector', absent.target.value.connectorId);
        if (absent) throw notFound('Custom action', absent.target?.value ?? '');
        return {};
      },
      async describeTools({ tools, timeLimitMs }: DescribeToolsRequest, { caller }) {
        self.timeLimits.push(timeLimitMs);
        self.described.push(tools.map(nameOf));
        const all = await Promise.all(
          tools.map(async (ref) => ({
            ref,
            told: isThere(caller.tenantId, ref) ? await self.describe(nameOf(ref)) : undefined,
          })),
        );
        return {
          tools: all.flatMap(({ ref, told }) => {
            const name = ref.target?.$case === 'tool' ? ref.target.value.name : `action_${ref.target?.value}`;
            return told ? [{ ref, name, description: '', inputSchemaJson: '', ...told }] : [];
          }),
          missing: all.flatMap(({ ref, told }) => (told ? [] : [{ ref, errorKind: 'NOT_FOUND' }])),
        };
      },
      async listTools(query: ListToolsRequest, { caller }) {
        self.toolsListed.push(query);
        const ids = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        const has = (ref: ToolRef) => isThere(caller.tenantId, ref);
        const told = (ref: ToolRef, name: string) => ({
          ref,
          name,
          ...(query.described && { description: `Does ${name}.`, inputSchemaJson: '{"type":"object"}' }),
        });
        const connectors = ids
          .filter((connectorId) => has({ target: { $case: 'tool', value: { connectorId, name: '' } } }))
          .map((id) => ({ id, name: `Connector ${id}`, ...listOf(id, query) }));
        return {
          connectors: connectors.map(({ id, name, errorKind }) => ({ id, name, errorKind })),
          tools: [
            ...connectors.flatMap(({ id: connectorId, tools }) =>
              tools.map((name) => told({ target: { $case: 'tool', value: { connectorId, name } } }, name)),
            ),
            ...ids
              .map((value): ToolRef => ({ target: { $case: 'actionId', value } }))
              .filter(has)
              .map((ref) => told(ref, `action ${ref.target?.value}`)),
          ],
        };
      },
      callTool: (request: CallToolRequest, { signal }) =>
        call({ target: { $case: 'tool', value: request.tool ?? { connectorId: 0, name: '' } } }, request, signal),
      callAction: (request: CallActionRequest, { signal }) =>
        call({ target: { $case: 'actionId', value: request.actionId } }, request, signal),
      async listTurnCalls({ turn }: ListTurnCallsRequest) {
        self.listed.push(turn);
        if (self.listFails) throw unavailable('no database');
        const calls = [...begun.values()].map((each) => each.call).filter(({ key }) => key?.turn === turn);
        return { calls: calls.toReversed() }; // calls of one step begin in no fixed order, so nobody may rely on the order
      },
    },
    { callers, addresses },
  );
  return Object.assign(self, { stub, address: stub.address });
}
