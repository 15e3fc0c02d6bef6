# Settings as they are passed on from job to job.
export NCCL_DEBUG=INFO
export NCCL_IB_HCA=mlx5_0
export NCCL_BUFFSIZE=16777216
export NCCL_IB_QPS_PER_CONNECTION=4
export NCCL_NET_GDR_LEVEL=SYS
export NCCL_BUFSIZE=8388608
export NCCL_NTHREADS=1024
export NCCL_ALGO=Ring
