import { measureJson } from '@parley/json-schema/json-size';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { parseJson } from '@parley/kernel/json';
import type { CallResult } from '@parley/protos/parley/action/v1/action';
import type { Ports } from '../ports.ts';
import { toolRef } from '../tools/check-tools.ts';
import { makeCall } from '../tools/make-call.ts';
import { endedCall, startedCall } from '../tools/tool-call-event.ts';
import type { TurnEvent, TurnScope } from '../turns/turn.ts';
import { outputLimits } from '../workflow/bounded-output.ts';
import type { Json } from '../workflow/definition.ts';
import type { ActionEffect, EffectOutcome, ToolEffect } from '../workflow/state.ts';

/** Makes the call of a tool or action node once, even if several attempts request it. */
export async function* makeNodeCall(
  ports: Ports,
  request: TenantRequest,
  scope: TurnScope,
  effect: ToolEffect | ActionEffect,
): AsyncGenerator<TurnEvent, EffectOutcome> {
  const { key, nodeId, args, timeoutMs = Number.POSITIVE_INFINITY } = effect;
  const name = effect.kind === 'tool' ? effect.tool : nodeId;
  const call = {
    ref: toolRef(effect),
    argumentsJson: JSON.stringify(args),
    key: { turn: scope.turnKey, call: key, note: Buffer.of() },
  };
  yield { text: '', toolCall: startedCall(key, name) };
  const result = await makeCall(ports, request, scope, call, Math.min(timeoutMs, ports.tools.callTimeMs));
  yield { text: '', toolCall: endedCall(key, name, result) };
  return outcomeOf(result);
}

function outcomeOf({ errorKind, errorMessage, body }: CallResult): EffectOutcome {
  if (errorKind !== '') return { error: { code: errorKind, message: errorMessage } };
  if (body?.$case !== 'json') return { output: body?.value ?? null };
  const output = parseJson(body.value);
  const problem = output === undefined ? 'is cut' : measureJson(output, outputLimits).problem;
  if (problem !== undefined) return { error: { code: 'OUTPUT_TOO_LARGE', message: `The result ${problem}` } };
  return { output: output as Json };
}
