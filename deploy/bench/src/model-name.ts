/** The name of the model on the bench's model server. */
export const modelName = 'bench';
