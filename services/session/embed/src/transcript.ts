import type { AiResponseEvent, Citation, SessionEvent, SessionStatusEvent, ToolCall } from './events.ts';
import { readEvent } from './read-event.ts';

/** One message and its reply, or a greeting. */
export interface Turn {
  /** Identifies the turn within its session. */
  readonly key: string;
  readonly turnIndex: number;
  readonly clientTurnId: string | null;
  /** Whether the agent spoke first, without a message of the person. */
  readonly isGreeting: boolean;
  state: 'streaming' | 'replied' | 'interrupted' | 'failed';
  attempt: number;
  /** The reply so far. */
  text: string;
  toolCalls: ToolCall[];
  citations: Citation[];
  structuredContent: unknown;
  /** Why the turn has no reply; undefined if it did not fail. */
  failure: { code: string; message: string } | undefined;
  /** Time of the turn's last event, in ISO 8601. */
  occurredAt: string;
}

export interface Transcript {
  /** Turns in the order of their messages. */
  readonly turns: readonly Turn[];
  /** The status in the last status event; ACTIVE before the first status event. */
  readonly status: SessionStatusEvent['status'];
  /**
   * Applies the next event. Events of unknown types are ignored. @returns the turn that the event changed; undefined if it changed no turn
   */
  take(event: SessionEvent): Turn | undefined;
}

/** Builds the turns of a session from its events. Every event must be given once and in order. @param kept turns to start with */
export function createTranscript(kept: readonly Turn[] = []): Transcript {
  const turns = [...kept];
  let status: SessionStatusEvent['status'] = 'ACTIVE';

  function turnOf({ turnIndex, clientTurnId, occurredAt }: TurnPosition): Turn {
    const key = `${turnIndex} ${clientTurnId ?? ''}`;
    const found = turns.find((turn) => turn.key === key);
    if (found) return found;
    const turn: Turn = {
      key,
      turnIndex,
      clientTurnId,
      isGreeting: turnIndex === 0 && clientTurnId === null,
      state: 'streaming',
      attempt: 1,
      text: '',
      toolCalls: [],
      citations: [],
      structuredContent: null,
      failure: undefined,
      occurredAt,
    };
    const next = turns.findIndex((other) => other.turnIndex > turnIndex);
    turns.splice(next < 0 ? turns.length : next, 0, turn);
    return turn;
  }

  return {
    turns,
    get status() {
      return status;
    },
    take(given) {
      const event = readEvent(given);
      if (!event) return undefined;
      if (event.__typename === 'SessionStatusEvent') {
        status = event.status;
        return undefined;
      }
      const turn = turnOf(event);
      turn.occurredAt = event.occurredAt;
      if (event.__typename === 'AiResponseEvent') finish(turn, event);
      else if (event.__typename === 'TurnFailedEvent') {
        // If a part of the failed reply was already shown, its text is kept.
        turn.state = 'failed';
        turn.failure = { code: event.code, message: event.failure };
        turn.toolCalls = turn.toolCalls.map(asEnded);
      } else if (turn.state === 'streaming' && event.attempt >= turn.attempt) {
        if (event.attempt > turn.attempt) Object.assign(turn, { attempt: event.attempt, text: '', toolCalls: [] });
        if (event.__typename === 'AiResponseChunkEvent') turn.text += event.text;
        else if (event.__typename === 'ToolCallEvent') turn.toolCalls = withCall(turn.toolCalls, event);
      }
      return turn;
    },
  };
}

type TurnPosition = Pick<AiResponseEvent, 'turnIndex' | 'clientTurnId' | 'occurredAt'>;

function finish(turn: Turn, { text, interrupted, message }: AiResponseEvent): void {
  turn.text = text;
  turn.state = interrupted ? 'interrupted' : 'replied';
  turn.toolCalls = message.toolCalls ?? turn.toolCalls.map(asEnded);
  turn.citations = message.citations ?? [];
  turn.structuredContent = message.structuredContent;
}

/** Returns a call of a turn that has ended: as cancelled if it is still running, otherwise unchanged. */
function asEnded(call: ToolCall): ToolCall {
  return call.callStatus === 'STARTED' ? { ...call, callStatus: 'CANCELLED' } : call;
}

function withCall(calls: ToolCall[], { callId, name, callStatus, durationMs, errorKind }: ToolCall): ToolCall[] {
  const call = { callId, name, callStatus, durationMs, errorKind };
  const known = calls.some((each) => each.callId === callId);
  return known ? calls.map((each) => (each.callId === callId ? call : each)) : [...calls, call];
}
