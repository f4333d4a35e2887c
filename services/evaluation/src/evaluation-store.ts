import { column, columnsOf, type RowOf, table, written } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import type { Judgement } from './judgement.ts';
import { transcriptPartStore } from './transcript-part-store.ts';
import type { WrittenTranscript } from './transcript-writer.ts';

/** The columns of an evaluation without its transcript, which may be long and is read separately. */
const evaluations = table('evaluations', {
  id: column<number>(),
  sessionId: column<number>(),
  score: column<number>(),
  summary: column<string>(),
  strengths: column<string[]>({ json: true }),
  weaknesses: column<string[]>({ json: true }),
  recommendation: column<string>(),
  transcriptParts: column<number>(),
  transcriptBytes: column<number | null>(),
  generatedAt: column<Date>(),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});

const columns = columnsOf(evaluations);

type EvaluationRow = RowOf<typeof evaluations>;

interface Transcript {
  transcriptJson: string;
  /** Size of the transcript as JSON; 0 if it was not asked for. */
  transcriptBytes: number;
}

export type Evaluation = Omit<EvaluationRow, 'transcriptParts' | 'transcriptBytes'> & Transcript;

export interface NewEvaluation extends Judgement {
  sessionId: number;
  transcript: WrittenTranscript;
  judgedBy: string;
}

export function evaluationStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const mine = () => knex<EvaluationRow & { tenantId: number }>('evaluations').where({ tenantId });

  /** Reads the transcript if it has at most `maxBytes`. The database measures the size, so a larger transcript is not read. */
  async function transcriptOf(
    { id, sessionId, transcriptParts, transcriptBytes }: EvaluationRow,
    maxBytes: number,
  ): Promise<Transcript> {
    if (maxBytes === 0) return { transcriptJson: '', transcriptBytes: 0 };
    if (transcriptBytes !== null) {
      const fits = transcriptBytes <= maxBytes;
      const transcriptJson = fits ? await transcriptPartStore(db).join(sessionId, transcriptParts) : '';
      return { transcriptJson, transcriptBytes };
    }
    const { rows } = await knex.raw(
      `select octet_length(json) as bytes, case when octet_length(json) <= cast(:maxBytes as bigint) then json end as json
         from (select cast(transcript as text) as json from evaluations
                where tenant_id = :tenantId and id = :id offset 0) as whole`,
      { tenantId, id, maxBytes },
    );
    return { transcriptJson: rows[0]?.json ?? '', transcriptBytes: rows[0]?.bytes ?? 0 };
  }

  return {
    /** Finds an evaluation. Includes the transcript if it has at most `maxTranscriptBytes`; with 0 the transcript is not read. */
    async findOf(sessionId: number, maxTranscriptBytes: number): Promise<Evaluation | undefined> {
      const row: EvaluationRow | undefined = await mine().where({ sessionId }).first(knex.raw(columns));
      if (!row) return undefined;
      const { transcriptParts: _, ...evaluation } = row;
      return { ...evaluation, ...(await transcriptOf(row, maxTranscriptBytes)) };
    },
    async exists(sessionId: number): Promise<boolean> {
      return (await mine().where({ sessionId }).first('id')) !== undefined;
    },
    /** @returns whether the evaluation was inserted; false if the session already had one */
    async insertOnce({ transcript, ...evaluation }: NewEvaluation): Promise<boolean> {
      const inserted: unknown[] = await knex('evaluations')
        .insert({
          ...written(evaluations, evaluation),
          tenantId,
          transcript: transcript.json,
          transcriptParts: transcript.parts,
          transcriptBytes: transcript.parts > 0 ? transcript.bytes : null,
        })
        .onConflict(['tenantId', 'sessionId'])
        .ignore()
        .returning('id');
      return inserted.length > 0;
    },
  };
}
