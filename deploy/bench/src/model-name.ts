/** The name of the model that the model server of the bench has. */
export const modelName = 'bench';
