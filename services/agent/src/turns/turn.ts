import type { CallAccount } from '@parley/metering/spend-meter';
import type { LinkedIdentity } from '@parley/protos/parley/action/v1/action';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import type { ToolCall } from '@parley/protos/parley/agent/v1/tool_calls';
import type { Passage } from '@parley/protos/parley/knowledge/v1/knowledge';
import type { ConversationMessage, FinishReason } from '../models/model.ts';
import type { StructuredContent } from '../workflow/structured-content.ts';

export interface Turn {
  agentId: number;
  sessionId: number;
  /** Id of the call, unique to this attempt. */
  callId: string;
  /** The conversation, oldest first, ending with the user's message to be answered. Empty if the agent speaks first. */
  history: ConversationMessage[];
  /** Identifies the turn; the key is the same in every attempt. */
  turnKey: string;
  /** Whether an earlier attempt may have begun the turn. */
  resumes: boolean;
  /** The person's id in the tenant's own system, for workflows; may be empty. */
  clientExternalId: string;
  metadataJson: string;
  sessionStartedAt?: Date | undefined;
  testDraft: boolean;
  identityJson: string;
  includesEarlierUsage: boolean;
  /** The user's identities, for actions that are called on their behalf. */
  linkedIdentities: LinkedIdentity[];
  /** Whether the agent speaks first. */
  opens: boolean;
}

/** Runs `wait`, e.g. the wait for a slot. The time of the wait does not count towards the caller's time limits. */
export type Untimed = <Result>(wait: () => Promise<Result>) => Promise<Result>;

/** The context of calls of models, tools and searches. */
export interface TurnScope
  extends Pick<Turn, 'callId' | 'history' | 'turnKey' | 'resumes'>,
    Partial<Pick<Turn, 'linkedIdentities'>> {
  account: Omit<CallAccount, 'callId'>;
  /** Prefix of tool call keys, for a turn with several tool loops. Default: none. */
  toolKeyPrefix?: string;
  /** Runs a wait for a model's slot outside the caller's time limits. Default: there are no limits. */
  untimed?: Untimed;
  /** Called with the names of tools that the turn omits: tools that are missing, or all tools if they cannot be described. */
  onToolsLeftOut?: (tools: readonly string[]) => void;
}

/** A change within a turn. The fields are those of `RunTurnResponse`. */
export interface TurnEvent {
  text: string;
  usage?: TurnUsage;
  passages?: Passage[];
  toolCall?: ToolCall;
  structuredContent?: StructuredContent;
  /** Set in the event with the turn's last text. */
  finishReason?: FinishReason;
}
