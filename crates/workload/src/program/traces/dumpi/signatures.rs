//! What stands in the record of each function, as DUMPI numbers them.

/// Functions in the order of their numbers, with what their records hold:
/// `b`, `h`, `i` and `q` are numbers of 8, 16, 32 and 64 bits; `r` is the caller's rank and `o` the root, 32 bits each;
/// `A`, `H` and `B` are lists of numbers of 32, 16 and 8 bits, `M` of lists of 32 bits; `C`, `N` and `O` are texts, lists of texts, lists of those;
/// `S` are statuses. What follows a `?` is there at the root alone. `-` is a function without a record.
const FUNCTIONS: &str = "\
    Send=ihiih Recv=ihiihS Get_count=Shi Bsend=ihiih Ssend=ihiih Rsend=ihiih Buffer_attach=i Buffer_detach=i Isend=ihiihi \
    Ibsend=ihiihi Issend=ihiihi Irsend=ihiihi Irecv=ihiihi Wait=iS Test=iiS Request_free=i Waitany=iAiS Testany=iAiiS \
    Waitall=iAS Testall=iAiS Waitsome=iAiAS Testsome=iAiAS Iprobe=iihiS Probe=iihS Cancel=i Test_cancelled=Si \
    Send_init=ihiihi Bsend_init=ihiihi Ssend_init=ihiihi Rsend_init=ihiihi Recv_init=ihiihi Start=i Startall=iA \
    Sendrecv=ihiiihiihS Sendrecv_replace=ihiiiihS Type_contiguous=ihh Type_vector=iiihh Type_hvector=iiihh \
    Type_indexed=iAAhh Type_hindexed=iAAhh Type_struct=iAAHh Address=i Type_extent=hi Type_size=hi Type_lb=hi Type_ub=hi \
    Type_commit=h Type_free=h Get_elements=Shi Pack=ihiiih Unpack=iiiihh Pack_size=ihhi Barrier=h Bcast=ihoh \
    Gather=rihoh?i?h Gatherv=riihoh?A?Ah Scatter=rihoh?i?h Scatterv=rihihoh?A?A Allgather=ihihh Allgatherv=iihAAhh \
    Alltoall=ihihh Alltoallv=iAAhAAhh Reduce=ihboh Op_create=ib Op_free=b Allreduce=ihbh Reduce_scatter=iAhbh Scan=ihbh \
    Group_size=hi Group_rank=hi Group_translate_ranks=hiAhA Group_compare=hhb Comm_group=hh Group_union=hhh \
    Group_intersection=hhh Group_difference=hhh Group_incl=hiAh Group_excl=hiAh Group_range_incl=hiMh Group_range_excl=hiMh \
    Group_free=h Comm_size=hi Comm_rank=hi Comm_compare=hhb Comm_dup=hh Comm_create=hhh Comm_split=hiih Comm_free=h \
    Comm_test_inter=hi Comm_remote_size=hi Comm_remote_group=hh Intercomm_create=hihiih Intercomm_merge=hih Keyval_create=h \
    Keyval_free=h Attr_put=hi Attr_get=hii Attr_delete=hi Topo_test=hb Cart_create=hiAAih Dims_create=iiAA \
    Graph_create=ihiAAih Graphdims_get=hii Graph_get=iihiiAA Cartdim_get=hi Cart_get=ihiAAA Cart_rank=ihAi Cart_coords=ihiiA \
    Graph_neighbors_count=hii Graph_neighbors=ihiiA Cart_shift=hiiii Cart_sub=ihAh Cart_map=hiAAi Graph_map=ihiAAi \
    Get_processor_name=Ci Get_version=ii Errhandler_create=h Errhandler_set=hh Errhandler_get=hh Errhandler_free=h \
    Error_string=iCi Error_class=ii Wtime= Wtick= Init=N Finalize= Initialized=i Abort=hi Pcontrol=- Close_port=C \
    Comm_accept=Chohh Comm_connect=Chohh Comm_disconnect=h Comm_get_parent=h Comm_join=ih Comm_spawn=rohh?C?N?i?h?A \
    Comm_spawn_multiple=irohh?i?N?O?A?H?A Lookup_name=ChC Open_port=hC Publish_name=ChC Unpublish_name=ChC \
    Accumulate=ihiiihbh Get=ihiiihh Put=ihiiihh Win_complete=h Win_create=iihhh Win_fence=bh Win_free=h Win_get_group=hh \
    Win_lock=bibh Win_post=hbh Win_start=hbh Win_test=hi Win_unlock=ih Win_wait=h Alltoallw=iAAHAAHh Exscan=ihbh \
    Add_error_class=i Add_error_code=ii Add_error_string=iC Comm_call_errhandler=hi Comm_create_keyval=h Comm_delete_attr=hh \
    Comm_free_keyval=h Comm_get_attr=hhi Comm_get_name=hCi Comm_set_attr=hh Comm_set_name=hC File_call_errhandler=hi \
    Grequest_complete=i Grequest_start=i Init_thread=Nbb Is_thread_main=i Query_thread=b Status_set_cancelled=Si \
    Status_set_elements=Shi Type_create_keyval=h Type_delete_attr=hh Type_dup=hh Type_free_keyval=h Type_get_attr=hhi \
    Type_get_contents=iiihiiiAAH Type_get_envelope=hiiib Type_get_name=hCi Type_set_attr=hh Type_set_name=hC \
    Type_match_size=bih Win_call_errhandler=hi Win_create_keyval=h Win_delete_attr=hh Win_free_keyval=h Win_get_attr=hhi \
    Win_get_name=hCi Win_set_attr=hh Win_set_name=hC Alloc_mem=ih Comm_create_errhandler=h Comm_get_errhandler=hh \
    Comm_set_errhandler=hh File_create_errhandler=h File_get_errhandler=hh File_set_errhandler=hh Finalized=i Free_mem= \
    Get_address=i Info_create=h Info_delete=hC Info_dup=hh Info_free=h Info_get=hCiCi Info_get_nkeys=hi Info_get_nthkey=hiC \
    Info_get_valuelen=hCii Info_set=hCC Pack_external=Cihiii Pack_external_size=Cihi Request_get_status=iiS \
    Type_create_darray=iiiABAAbhh Type_create_hindexed=iAAhh Type_create_hvector=iiihh Type_create_indexed_block=iiAhh \
    Type_create_resized=hiih Type_create_struct=iAAHh Type_create_subarray=iAAAbhh Type_get_extent=hii \
    Type_get_true_extent=hii Unpack_external=Ciiiih Win_create_errhandler=h Win_get_errhandler=hh Win_set_errhandler=hh \
    File_open=hCbhh File_close=h File_delete=Ch File_set_size=hq File_preallocate=hq File_get_size=hq File_get_group=hh \
    File_get_amode=hb File_set_info=hh File_get_info=hh File_set_view=hqhhCh File_get_view=hqhhC File_read_at=hqihS \
    File_read_at_all=hqihS File_write_at=hqihS File_write_at_all=hqihS File_iread_at=hqihi File_iwrite_at=hqihi \
    File_read=hihS File_read_all=hihS File_write=hihS File_write_all=hihS File_iread=hihi File_iwrite=hihi File_seek=hqb \
    File_get_position=hq File_get_byte_offset=hqq File_read_shared=hihS File_write_shared=hihS File_iread_shared=hihi \
    File_iwrite_shared=hihi File_read_ordered=hihS File_write_ordered=hihS File_seek_shared=hqb File_get_position_shared=hq \
    File_read_at_all_begin=hqih File_read_at_all_end=hS File_write_at_all_begin=hqih File_write_at_all_end=hS \
    File_read_all_begin=hih File_read_all_end=hS File_write_all_begin=hih File_write_all_end=hS File_read_ordered_begin=hih \
    File_read_ordered_end=hS File_write_ordered_begin=hih File_write_ordered_end=hS File_get_type_extent=hhi \
    Register_datarep=C File_set_atomicity=hi File_get_atomicity=hi File_sync=h IO:Test=iiS IO:Wait=iS IO:Testall=iAiS \
    IO:Waitall=iAS IO:Testany=iAiiS IO:Waitany=iAiS IO:Waitsome=iAiAS IO:Testsome=iAiAS ALL_FUNCTIONS=- Function_enter=q \
    Function_exit=q";

/// Number after the last: it ends the records.
pub(super) const END: u16 = 293;

/// Names and records of all functions.
#[derive(Debug)]
pub(super) struct Signatures(Vec<(&'static str, &'static str)>);

impl Signatures {
    pub(super) fn new() -> Self {
        Self(FUNCTIONS.split_ascii_whitespace().filter_map(|function| function.split_once('=')).collect())
    }

    /// Name, without MPI's prefix, and record of a function.
    pub(super) fn of(&self, function: u16) -> Option<(&'static str, &'static str)> {
        self.0.get(usize::from(function)).copied().filter(|&(_, record)| record != "-")
    }

    /// The number of a function by its name.
    #[cfg(test)]
    pub(super) fn number(&self, name: &str) -> u16 {
        self.0.iter().position(|f| f.0 == name).expect("a function") as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_function() {
        let all = Signatures::new();
        assert_eq!(all.0.len(), usize::from(END));
        assert_eq!((all.of(0), all.of(END)), (Some(("Send", "ihiih")), None));
        assert_eq!(all.number("Finalize"), 0x7d);
        assert!(all.0.iter().all(|f| f.1.bytes().all(|b| b"bhiqroAHBMCNOS?-".contains(&b))));
    }
}
