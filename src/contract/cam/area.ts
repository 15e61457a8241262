// What all areas of the camera module share.

/** Upstream failures are 502 (Part 1, 1), and an invalid request has the documented code. */
export const CAM_AREA = { upstream_status: 502, invalid_request: 'CAM_INVALID_REQUEST_PAYLOAD' } as const
