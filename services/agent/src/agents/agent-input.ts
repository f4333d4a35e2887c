import { maxPathLength, pathProblem } from '@parley/json-path/json-path';
import { invalid } from '@parley/kernel/errors';
import { between, graphEnum, rule, text, textProblem } from '@parley/kernel/input';
import { codePoints, storageProblem } from '@parley/kernel/input-checks';
import { isJsonObject } from '@parley/kernel/json';
import type { OutboundPolicy } from '@parley/outbound/outbound-policy';
import { templateEngine, templateProblem } from '@parley/text/template-engine';
import { z } from 'zod';
import type {
  AgentStatus,
  AgentUseCase,
  AvatarBackend,
  AvatarGenderCode,
  LlmProviderType,
  VoiceTier,
} from '../generated/schema.ts';

/** A tool that the agent's model may call: a tool of a connector, or a custom action. */
export type AgentTool = { connectorId: number; tool: string } | { actionId: number };

const templates = templateEngine();

const template = text(20_000).check(rule((source) => templateProblem(templates, source)));

const maxLabels = 50;
const labels = z
  .array(z.unknown())
  .max(maxLabels, `must have at most ${maxLabels} labels`)
  .pipe(
    z
      .array(text(100))
      .refine((all) => new Set(all).size === all.length, { error: 'must not have a label twice', when: () => true }),
  );

const maxKnowledgeBases = 5;
const knowledgeBases = z
  .array(z.int())
  .transform((ids) => [...new Set(ids)])
  .refine((ids) => ids.length <= maxKnowledgeBases, `must have at most ${maxKnowledgeBases} different ids`)
  .nullable()
  .transform((ids) => (ids?.length === 0 ? null : ids));

const maxTools = 20;
const tool = z
  .object({ connectorId: z.int().nullish(), tool: text(200).nullish(), actionId: z.int().nullish() })
  .transform((given, { addIssue }): AgentTool => {
    const { connectorId, tool: name, actionId } = given;
    if (actionId != null && connectorId == null && name == null) return { actionId };
    if (connectorId != null && name != null && actionId == null) return { connectorId, tool: name };
    addIssue('must have either connectorId and tool, or actionId');
    return z.NEVER;
  });
const toolList = z
  .array(z.unknown())
  .max(maxTools, `must have at most ${maxTools} tools`)
  .pipe(
    z.array(tool).refine((all) => new Set(all.map((each) => JSON.stringify(each))).size === all.length, {
      error: 'must not have a tool twice',
      when: () => true,
    }),
  )
  .nullable()
  .transform((all) => (all?.length === 0 ? null : all));

const url = text(2_048).check(rule(urlProblem));

const mapping = z
  .unknown()
  .check(checkMapping)
  .transform((given) => ({ ...(given as Record<string, string>) }));

const avatarConfig = z.unknown().pipe(
  z.strictObject(
    { vendorAvatarId: text(200), vendorAvatarModel: text(200) },
    {
      error: ({ code }) =>
        code === 'unrecognized_keys'
          ? 'must have vendorAvatarId and vendorAvatarModel only'
          : 'must be an object of vendorAvatarId and vendorAvatarModel',
    },
  ),
);

/** The settable fields of an agent, declared only here; the SDL documents them. */
export const agentFields = z.object({
  name: text(200),
  personaPrompt: text(20_000),
  position: text(200),
  subject: text(200).nullable(),
  openingGreeting: text(4_000).nullable(),
  useCase: graphEnum<AgentUseCase>(),
  voiceTier: graphEnum<VoiceTier>(),
  status: graphEnum<AgentStatus>(),
  workflowId: z.int().nullable(),
  ttsVoice: text(200).nullable(),
  ttsLang: text(100).nullable(),
  speakingRate: between(0.25, 4).nullable(),
  vadThreshold: between(0, 1),
  avatarGlb: text(200).nullable(),
  avatarGender: graphEnum<AvatarGenderCode>().nullable(),
  lipsyncLang: text(100).nullable(),
  evaluationPromptTemplate: template.nullable(),
  evaluationRecommendationLabels: labels.nullable(),
  externalSyncUrl: url.nullable(),
  externalSyncSecretRef: text(100).nullable(),
  externalSyncOwnerId: z.int().positive('must be above 0').nullable(),
  externalSyncSchemaConfig: mapping.nullable(),
  llmProviderOverride: graphEnum<LlmProviderType>().nullable(),
  llmModelOverride: text(200).nullable(),
  avatarBackend: graphEnum<AvatarBackend>(),
  avatarBackendConfig: avatarConfig.nullable(),
  knowledgeBaseIds: knowledgeBases,
  tools: toolList,
});

export type AgentFields = z.output<typeof agentFields>;

export const agentChanges = agentFields.partial();

export const newAgent = agentFields
  .omit({ workflowId: true, status: true })
  .partial()
  .required({ name: true, personaPrompt: true, position: true });

type Nullable = { [Field in keyof AgentFields as null extends AgentFields[Field] ? Field : never]: AgentFields[Field] };

/** Values for fields that the input leaves out: null for every nullable field. */
export const agentDefaults: Omit<AgentFields, 'name' | 'personaPrompt' | 'position'> = {
  ...(Object.fromEntries(Object.keys(agentFields.shape).map((field) => [field, null])) as Nullable),
  useCase: 'INTERVIEW',
  status: 'ACTIVE',
  voiceTier: 'STANDARD',
  vadThreshold: 0.5,
  avatarBackend: 'CLIENT_3D',
};

export function checkAvatarBackend({ avatarBackend, avatarBackendConfig }: AgentFields): void {
  if (avatarBackend !== 'HOSTED_API' || avatarBackendConfig !== null) return;
  throw invalid({ path: 'input.avatarBackendConfig', message: 'is required with the avatar backend HOSTED_API' });
}

/** @throws DomainError `invalid`: the outbound guard refuses the URL. The host name is not resolved for this check. */
export function checkSyncUrl(
  { outbound }: { outbound: Pick<OutboundPolicy, 'problemOf'> },
  { externalSyncUrl }: Partial<AgentFields>,
): void {
  const message = externalSyncUrl == null ? undefined : outbound.problemOf(externalSyncUrl);
  if (message) throw invalid({ path: 'input.externalSyncUrl', message });
}

function urlProblem(given: string): string | undefined {
  const url = URL.parse(given);
  return !url || !/^https?:$/.test(url.protocol) || /\s/.test(given) ? 'must be an http or https URL' : undefined;
}

const maxMappedFields = 100;
const maxFieldLength = 500;

function checkMapping({ value, issues }: z.core.ParsePayload): void {
  const refuse = (message: string, ...path: string[]) => issues.push({ code: 'custom', message, input: value, path });
  if (!isJsonObject(value)) return void refuse('must be an object that maps target fields to JSONPaths');
  const entries = Object.entries(value);
  const unstorable = storageProblem(entries.map(([field]) => field));
  if (unstorable) refuse(unstorable);
  if (entries.length > maxMappedFields) return void refuse(`must map at most ${maxMappedFields} fields`);
  for (const [field, jsonPath] of entries) {
    if (codePoints(field) > maxFieldLength) refuse(`has a field of over ${maxFieldLength} characters`);
    else {
      const why = textProblem(jsonPath, maxPathLength) ?? pathProblem(String(jsonPath));
      if (why) refuse(why, field.toWellFormed().replaceAll('\0', ''));
    }
  }
}
