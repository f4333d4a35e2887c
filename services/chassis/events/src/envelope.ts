/** An event in transit. Field names are those of CloudEvents; `data` is the protobuf message of `type`. */
export interface Envelope {
  /** A UUID, the same at every delivery: inboxes deduplicate by it. */
  id: string;
  /** The topic of the event, e.g. `session-ended`. */
  topic: string;
  /** The type of `data`, in the past tense and with its version, e.g. `session.ended.v1`. */
  type: string;
  /** The service that publishes the event. */
  source: string;
  /** The aggregate's id: events of one key keep their order. */
  key: string;
  tenantId: number;
  time: Date;
  data: Uint8Array;
  /** W3C trace context of the event's cause. */
  traceparent?: string;
}
