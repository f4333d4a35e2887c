import type { TenantRequest } from '@parley/kernel/caller-request';
import type { ProviderChain } from '../models/provider-chain.ts';
import type { Ports } from '../ports.ts';
import type { TurnEvent, TurnScope } from '../turns/turn.ts';
import type { EffectOutcome, WorkflowEffect } from '../workflow/state.ts';
import { chooseRoute } from './choose-route.ts';
import { makeNodeCall } from './make-node-call.ts';
import { writeText } from './write-text.ts';

/** The context of effects, in addition to their own inputs. */
export interface EffectContext {
  scope: TurnScope;
  /** The system prompt for llm nodes without one. */
  persona: string;
  /** Chooses the models. Called when the first node needs a model. */
  chain: () => Promise<ProviderChain>;
}

/**
 * Carries out the effect that a node asks for. Events contain the effect's usage, and text only if the user sees the
 * text while it is written. Rejects when the signal aborts, and for errors that concern more than the node, e.g. the
 * tenant's spending cap.
 */
export function carryOut(
  ports: Ports,
  request: TenantRequest,
  { scope, persona, chain }: EffectContext,
  effect: WorkflowEffect,
): AsyncGenerator<TurnEvent, EffectOutcome> {
  const own: TurnScope = { ...scope, callId: `${scope.callId}.${effect.key}`, toolKeyPrefix: `${effect.key}/` };
  switch (effect.kind) {
    case 'llm':
      return writeText(ports, request, own, { effect, persona, chain });
    case 'router':
      return chooseRoute(ports, request, own, { effect, chain });
    default:
      return makeNodeCall(ports, request, own, effect);
  }
}
