import type { TenantDb } from '@parley/chassis/database/types';
import type { Judgement } from './judgement.ts';
import type { TranscriptLine } from './transcript.ts';

export interface Evaluation extends Judgement {
  id: number;
  sessionId: number;
  transcript: TranscriptLine[];
  generatedAt: Date;
  createdAt: Date;
  updatedAt: Date;
}

export interface NewEvaluation extends Judgement {
  sessionId: number;
  transcript: TranscriptLine[];
  /** The model that judged, or `OFFLINE`. */
  judgedBy: string;
}

interface EvaluationRow {
  id: number;
  tenant_id: number;
  session_id: number;
  score: number;
  summary: string;
  strengths: string[];
  weaknesses: string[];
  recommendation: string;
  transcript: TranscriptLine[];
  judged_by: string;
  generated_at: Date;
  created_at: Date;
  updated_at: Date;
}

/** One tenant's evaluations, exactly one a session. */
export function evaluationStore({ knex, tenantId }: TenantDb) {
  const mine = () => knex<EvaluationRow>('evaluations').where({ tenant_id: tenantId });
  return {
    async findOf(sessionId: number): Promise<Evaluation | undefined> {
      const row = await mine().where({ session_id: sessionId }).first();
      return row && fromRow(row);
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
          transcript: JSON.stringify(transcript),
          ...judgement,
        })
        .onConflict(['tenant_id', 'session_id'])
        .ignore();
    },
  };
}

function fromRow(row: EvaluationRow): Evaluation {
  const { id, score, summary, strengths, weaknesses, recommendation, transcript } = row;
  return {
    id,
    sessionId: row.session_id,
    score,
    summary,
    strengths,
    weaknesses,
    recommendation,
    transcript,
    generatedAt: row.generated_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
