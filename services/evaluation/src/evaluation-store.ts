import type { TenantDb } from '@parley/chassis/database/types';
import type { Judgement } from './judgement.ts';
import { transcriptPartStore } from './transcript-part-store.ts';
import type { WrittenTranscript } from './transcript-writer.ts';

export interface Evaluation extends Judgement {
  id: number;
  sessionId: number;
  /** A JSON array of lines; empty where it takes more bytes than asked for. */
  transcriptJson: string;
  /** What the transcript takes as JSON; 0 where none was asked for. */
  transcriptBytes: number;
  generatedAt: Date;
  createdAt: Date;
  updatedAt: Date;
}

export interface NewEvaluation extends Judgement {
  sessionId: number;
  transcript: WrittenTranscript;
  /** The model that judged, or `OFFLINE`. */
  judgedBy: string;
}

/** All but the transcript, which may be long. */
const columns = [
  'id',
  'session_id',
  'score',
  'summary',
  'strengths',
  'weaknesses',
  'recommendation',
  'transcript_parts',
  'transcript_bytes',
  'generated_at',
  'created_at',
  'updated_at',
] as const;

interface EvaluationRow {
  id: number;
  session_id: number;
  score: number;
  summary: string;
  strengths: string[];
  weaknesses: string[];
  recommendation: string;
  transcript_parts: number;
  transcript_bytes: string | null;
  generated_at: Date;
  created_at: Date;
  updated_at: Date;
}

type Transcript = Pick<Evaluation, 'transcriptJson' | 'transcriptBytes'>;

/** One tenant's evaluations, exactly one a session. */
export function evaluationStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const mine = () => knex<EvaluationRow & { tenant_id: number }>('evaluations').where({ tenant_id: tenantId });

  /** The database measures it first, and gives it out only where it fits. */
  async function transcriptOf(row: EvaluationRow, maxBytes: number): Promise<Transcript> {
    if (maxBytes === 0) return { transcriptJson: '', transcriptBytes: 0 };
    if (row.transcript_parts > 0) {
      const transcriptBytes = Number(row.transcript_bytes);
      const fits = transcriptBytes <= maxBytes;
      const transcriptJson = fits ? await transcriptPartStore(db).join(row.session_id, row.transcript_parts) : '';
      return { transcriptJson, transcriptBytes };
    }
    const { rows } = await knex.raw(
      `select octet_length(json) as bytes, case when octet_length(json) <= cast(:maxBytes as bigint) then json end as json
         from (select cast(transcript as text) as json from evaluations
                where tenant_id = :tenantId and id = :id offset 0) as whole`,
      { tenantId, id: row.id, maxBytes },
    );
    return { transcriptJson: rows[0]?.json ?? '', transcriptBytes: rows[0]?.bytes ?? 0 };
  }

  return {
    /** With its transcript where that takes no more bytes than `maxTranscriptBytes`; 0: it is not read. */
    async findOf(sessionId: number, maxTranscriptBytes: number): Promise<Evaluation | undefined> {
      const row = await mine()
        .where({ session_id: sessionId })
        .first(...columns);
      return row && { ...fromRow(row), ...(await transcriptOf(row, maxTranscriptBytes)) };
    },
    async exists(sessionId: number): Promise<boolean> {
      return (await mine().where({ session_id: sessionId }).first('id')) !== undefined;
    },
    /** Stores it unless the session has one already. */
    async insertOnce({
      sessionId,
      judgedBy,
      strengths,
      weaknesses,
      transcript,
      ...judgement
    }: NewEvaluation): Promise<void> {
      await knex('evaluations')
        .insert({
          tenant_id: tenantId,
          session_id: sessionId,
          judged_by: judgedBy,
          strengths: JSON.stringify(strengths),
          weaknesses: JSON.stringify(weaknesses),
          transcript: transcript.json,
          transcript_parts: transcript.parts,
          transcript_bytes: transcript.parts > 0 ? transcript.bytes : null,
          ...judgement,
        })
        .onConflict(['tenant_id', 'session_id'])
        .ignore();
    },
  };
}

function fromRow(row: EvaluationRow): Omit<Evaluation, keyof Transcript> {
  const { id, score, summary, strengths, weaknesses, recommendation } = row;
  return {
    id,
    sessionId: row.session_id,
    score,
    summary,
    strengths,
    weaknesses,
    recommendation,
    generatedAt: row.generated_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
