import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import type { CallResult, ToolRef } from './call-result.ts';
import { interruptCall, isAbandoned } from './interrupt-call.ts';
import { callPlace, openedResult } from './sealed-call.ts';
import { type StoredCall, turnCallStore } from './turn-call-store.ts';

export interface TurnCall {
  turn: string;
  call: string;
  note: Buffer;
  ref: ToolRef;
  argumentsJson: string;
  /** The call's result; undefined while a live process runs the call. */
  result: CallResult | undefined;
  begunAt: Date;
}

/** Maximum number of characters of one body. */
const maxBodyLength = 131_072;
/** Maximum number of characters of all bodies together, except for the minimum of each older call. */
const maxTotalLength = 4 * 2 ** 20;
/** Maximum number of characters of a body after the total is reached. */
const minBodyLength = 1_000;

/** Lists a turn's calls in the order in which they began. Calls of dead processes are marked as interrupted first. */
export async function listTurnCalls(
  ports: Ports,
  { caller: { tenantId } }: TenantRequest,
  turn: string,
): Promise<TurnCall[]> {
  const listed: TurnCall[] = [];
  let remainingLength = maxTotalLength;
  let some: StoredCall[] = [];
  do {
    const before = some.at(-1)?.number;
    some = await ports.database.read(tenantId, (db) => turnCallStore(db).listSome(turn, before));
    for (const found of some) {
      const call = await opened(
        ports,
        tenantId,
        found,
        Math.max(minBodyLength, Math.min(maxBodyLength, remainingLength)),
      );
      remainingLength -= call.result?.body?.text.length ?? 0;
      listed.push(call);
    }
  } while (some.length > 0);
  return listed.toReversed();
}

async function opened(ports: Ports, tenantId: number, found: StoredCall, maxLength: number): Promise<TurnCall> {
  const { turn, call, kind, target, toolName, begunAt } = found;
  const place = { tenantId, turn, call };
  const open = (part: 'note' | 'arguments', sealed: Buffer) => ports.box.open(sealed, callPlace(part, place));
  const { resultSealed } = found;
  const stored = resultSealed ? openedResult(ports.box, place, resultSealed) : undefined;
  const result = isAbandoned(ports, tenantId, found) ? await interruptCall(ports, tenantId, found) : stored;
  return {
    turn,
    call,
    note: open('note', found.noteSealed),
    ref: { kind, target, toolName } as ToolRef,
    argumentsJson: open('arguments', found.argumentsSealed).toString(),
    result: result && shortened(result, maxLength),
    begunAt,
  };
}

/** Truncates a result's body. Truncated JSON is returned as text. */
function shortened(result: CallResult, maxLength: number): CallResult {
  const { body } = result;
  if (!body || body.text.length <= maxLength) return result;
  return { ...result, body: { kind: 'text', text: body.text.slice(0, maxLength).toWellFormed() }, truncated: true };
}
