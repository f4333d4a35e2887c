import type { AnswerRoom, AskedFields } from '@parley/chassis/answer-budget';
import { columnsWithin, listWithin } from '@parley/chassis/database/list-within';
import type { TenantDb } from '@parley/chassis/database/types';
import { notFound } from '@parley/chassis/errors';
import type { Agent, AgentFields, ListedAgent } from './agent.ts';

/** How a list is bounded: at most `first`, those whose id is above `after`. */
interface AgentPage {
  first?: number | undefined;
  after?: number | undefined;
}

/** Whether there is room for a list, and which fields of it are shown. */
interface Answer {
  room: AnswerRoom;
  fields: AskedFields;
}

const columns = {
  name: 'name',
  personaPrompt: 'persona_prompt',
  position: 'position',
  subject: 'subject',
  openingGreeting: 'opening_greeting',
  useCase: 'use_case',
  status: 'status',
  workflowId: 'workflow_id',
  voiceTier: 'voice_tier',
  ttsVoice: 'tts_voice',
  ttsLang: 'tts_lang',
  speakingRate: 'speaking_rate',
  vadThreshold: 'vad_threshold',
  avatarGlb: 'avatar_glb',
  avatarGender: 'avatar_gender',
  lipsyncLang: 'lipsync_lang',
  evaluationPromptTemplate: 'evaluation_prompt_template',
  evaluationRecommendationLabels: 'evaluation_recommendation_labels',
  externalSyncUrl: 'external_sync_url',
  externalSyncSecretRef: 'external_sync_secret_ref',
  externalSyncOwnerId: 'external_sync_owner_id',
  externalSyncSchemaConfig: 'external_sync_schema_config',
  llmProviderOverride: 'llm_provider_override',
  llmModelOverride: 'llm_model_override',
  avatarBackend: 'avatar_backend',
  avatarBackendConfig: 'avatar_backend_config',
} as const satisfies Record<keyof AgentFields, string>;

const jsonFields = new Set<keyof AgentFields>([
  'evaluationRecommendationLabels',
  'externalSyncSchemaConfig',
  'avatarBackendConfig',
]);

/** Any of them may be long, and no list has to read all. */
const longColumns = (Object.keys(columns) as (keyof AgentFields)[]).map((field) => ({
  field,
  column: columns[field],
}));

type Columns = typeof columns;
type AgentRow = { [Field in keyof Columns as Columns[Field]]: AgentFields[Field] } & {
  id: number;
  tenant_id: number;
  hidden: boolean;
  deleted_at: Date | null;
  created_at: Date;
  updated_at: Date;
};

/** One tenant's agents. */
export function agentStore({ knex, tenantId }: TenantDb) {
  const mine = () => knex<AgentRow>('agents').where({ tenant_id: tenantId });
  const live = () => mine().whereNull('deleted_at');
  const listed = () => live().where({ hidden: false });
  const shown = async (query: ReturnType<typeof mine>, { room, fields }: Answer): Promise<ListedAgent[]> => {
    query.select(knex.raw(columnsWithin(['id', 'deleted_at', 'created_at', 'updated_at'], longColumns, fields)));
    return (await listWithin<AgentRow>({ knex }, room, query)).map((row) => fromRow(row));
  };

  return {
    /** Unless it is deleted; hidden ones too. */
    async findLive(id: number): Promise<Agent | undefined> {
      const row = await live().where({ id }).first();
      return row && fromRow(row);
    },
    /** Keeps the row from others until the transaction ends. @throws DomainError `notFound`, also when it is deleted. */
    async lockLive(id: number): Promise<Agent> {
      const row = await live().where({ id }).forUpdate().first();
      if (!row) throw notFound('Agent', id);
      return fromRow(row);
    },
    /** Those of these ids that are there, deleted ones included, in any order. */
    async listByIds(ids: readonly number[]): Promise<Agent[]> {
      const rows = await mine().whereIn('id', [...ids]);
      return rows.map((row) => fromRow(row));
    },
    /** The same for an answer, with the fields that it shows. @throws DomainError `invalid`, `ANSWER_TOO_LARGE`. */
    async listShown(ids: readonly number[], answer: Answer): Promise<ListedAgent[]> {
      return shown(mine().whereIn('id', [...ids]), answer);
    },
    /** By id, with the fields that the answer shows. @throws DomainError `invalid`, `ANSWER_TOO_LARGE`. */
    async list({ first, after }: AgentPage, answer: Answer): Promise<ListedAgent[]> {
      const query = listed().orderBy('id');
      if (after !== undefined) void query.where('id', '>', after);
      if (first !== undefined) void query.limit(first);
      return shown(query, answer);
    },
    async count(): Promise<number> {
      const row = await listed().count<{ count: string }[]>({ count: '*' }).first();
      return Number(row?.count ?? 0);
    },
    async exists(id: number): Promise<boolean> {
      return (await mine().where({ id }).first('id')) !== undefined;
    },
    async insert(fields: AgentFields): Promise<Agent> {
      const [row] = await knex('agents').insert({ ...toRow(fields), tenant_id: tenantId }, '*');
      return fromRow(row);
    },
    async update(id: number, fields: Partial<AgentFields>): Promise<Agent> {
      const [row] = await knex('agents')
        .where({ tenant_id: tenantId, id })
        .update({ ...toRow(fields), updated_at: knex.raw('parley_now()') }, '*');
      return fromRow(row);
    },
    /** Whether there was one to delete. */
    async markDeleted(id: number): Promise<boolean> {
      const now = knex.raw('parley_now()');
      const changed = await knex('agents')
        .where({ tenant_id: tenantId, id, deleted_at: null })
        .update({ deleted_at: now, updated_at: now });
      return changed > 0;
    },
  };
}

function toRow(fields: Partial<AgentFields>): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (const field of Object.keys(columns) as (keyof AgentFields)[]) {
    const value = fields[field];
    if (value === undefined) continue;
    row[columns[field]] = jsonFields.has(field) && value !== null ? JSON.stringify(value) : value;
  }
  return row;
}

function fromRow(row: AgentRow): Agent {
  return {
    id: row.id,
    name: row.name,
    personaPrompt: row.persona_prompt,
    position: row.position,
    subject: row.subject,
    openingGreeting: row.opening_greeting,
    useCase: row.use_case,
    status: row.status,
    workflowId: row.workflow_id,
    voiceTier: row.voice_tier,
    ttsVoice: row.tts_voice,
    ttsLang: row.tts_lang,
    speakingRate: row.speaking_rate,
    vadThreshold: row.vad_threshold,
    avatarGlb: row.avatar_glb,
    avatarGender: row.avatar_gender,
    lipsyncLang: row.lipsync_lang,
    evaluationPromptTemplate: row.evaluation_prompt_template,
    evaluationRecommendationLabels: row.evaluation_recommendation_labels,
    externalSyncUrl: row.external_sync_url,
    externalSyncSecretRef: row.external_sync_secret_ref,
    externalSyncOwnerId: row.external_sync_owner_id,
    externalSyncSchemaConfig: row.external_sync_schema_config,
    llmProviderOverride: row.llm_provider_override,
    llmModelOverride: row.llm_model_override,
    avatarBackend: row.avatar_backend,
    avatarBackendConfig: row.avatar_backend_config,
    deletedAt: row.deleted_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
